// SPDX-License-Identifier: Apache-2.0
#include "evaluation/sample_command.h"

#include <torch/torch.h>

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/faults.h"
#include "common/file.h"
#include "common/png.h"
#include "common/status.h"
#include "evaluation/load_generator.h"
#include "pipeline/open_dataset.h"
#include "training/catch_torch.h"
#include "training/sources.h"

namespace gandem {
namespace {

constexpr int64_t kBatch = 64;
constexpr int64_t kCheckedSamples = 2048;
constexpr int64_t kCheckedRealImages = 10240;

// Calls `use` with each of the first `count` images, batch by batch:
// use(values_NCHW, shape).
template <typename Use>
void MakeSamples(LoadedGenerator& generator, uint64_t seed, int64_t count,
                 const Use& use) {
  torch::NoGradGuard no_grad;
  const NoiseSource noise =
      KeyedNoise(seed, generator.network->noise_dim(), generator.compute);
  for (int64_t first = 0; first < count; first += kBatch) {
    const IndexRange range = {.first = first,
                              .count = std::min(kBatch, count - first)};
    const at::Tensor images_NCHW =
        generator.network
            ->forward(noise(Purpose::kSample, 0, range), ForwardMode::kEvaluate)
            .to(at::kCPU, at::kFloat)
            .contiguous();
    use(std::span(images_NCHW.const_data_ptr<float>(),
                  static_cast<size_t>(images_NCHW.numel())),
        ImageShape{.channels = images_NCHW.size(1),
                   .height = images_NCHW.size(2),
                   .width = images_NCHW.size(3)});
  }
}

absl::Status WriteGrid(LoadedGenerator& generator, uint64_t seed,
                       int64_t num_images, const std::string& path) {
  std::vector<float> grid;
  ImageShape grid_shape;
  MakeSamples(generator, seed, num_images,
              [&](std::span<const float> values, ImageShape shape) {
                grid.insert(grid.end(), values.begin(), values.end());
                grid_shape = shape;
              });
  return WritePng(path, TileImages(grid, grid_shape));
}

absl::StatusOr<PixelStatistics> RealStatistics(const DataConfig& config) {
  GANDEM_ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> dataset,
                          OpenDataset(config));
  const int64_t count = std::min(dataset->size(), kCheckedRealImages);
  PixelAccumulator accumulator(dataset->shape());
  std::vector<float> image(dataset->shape().NumValues());
  for (int64_t i = 0; i < count; ++i) {
    GANDEM_RETURN_IF_ERROR(dataset->Read(i * dataset->size() / count, image));
    accumulator.Add(image);
  }
  return accumulator.Finish();
}

absl::StatusOr<SampleDistance> Check(LoadedGenerator& generator,
                                     uint64_t seed) {
  GANDEM_ASSIGN_OR_RETURN(const PixelStatistics real,
                          RealStatistics(generator.config.data()));
  std::optional<PixelAccumulator> accumulator;
  MakeSamples(generator, seed, kCheckedSamples,
              [&](std::span<const float> values, ImageShape shape) {
                if (!accumulator.has_value()) accumulator.emplace(shape);
                const size_t size = static_cast<size_t>(shape.NumValues());
                for (; !values.empty(); values = values.subspan(size)) {
                  accumulator->Add(values.first(size));
                }
              });
  GANDEM_ASSIGN_OR_RETURN(const PixelStatistics generated,
                          accumulator->Finish());
  return ComputeSampleDistance(real, generated);
}

absl::Status Sample(const SampleRequest& request, SampleReport& report) {
  GANDEM_ASSIGN_OR_RETURN(LoadedGenerator generator,
                          LoadGenerator(request.run_dir, request.checkpoint));
  report.checkpoint = generator.checkpoint;
  report.step = generator.step;
  report.skipped = generator.skipped;
  const uint64_t seed = request.seed.value_or(generator.config.seed());
  report.grid = request.output;
  if (report.grid.empty()) {
    const std::string folder = request.run_dir + "/samples";
    GANDEM_RETURN_IF_ERROR(CreateDirectories(folder));
    report.grid = absl::StrCat(folder, "/sample-", generator.step, ".png");
  }
  GANDEM_RETURN_IF_ERROR(
      WriteGrid(generator, seed, request.num_images, report.grid));
  if (request.check) {
    GANDEM_ASSIGN_OR_RETURN(report.distance, Check(generator, seed));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SampleReport> RunSampleCommand(const SampleRequest& request) {
  Faults faults("sample");
  faults.CheckRange("n", request.num_images, 1, SampleRequest::kMaxImages);
  GANDEM_RETURN_IF_ERROR(faults.ToStatus());
  SampleReport report;
  GANDEM_RETURN_IF_ERROR(CatchTorch([&] { return Sample(request, report); }));
  return report;
}

}  // namespace gandem
