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
#include "evaluation/export_images.h"
#include "evaluation/generated_images.h"
#include "evaluation/load_generator.h"
#include "evaluation/sample_noise.h"
#include "pipeline/open_dataset.h"
#include "training/catch_torch.h"

namespace gandem {
namespace {

constexpr int64_t kBatch = 64;
constexpr int64_t kCheckedSamples = 2048;
constexpr int64_t kCheckedRealImages = 10240;

// Calls `use` with the image of each row of noise, batch by batch:
// use(values_NCHW, shape).
template <typename Use>
void MakeSamples(LoadedGenerator& generator, const at::Tensor& noise_NZ,
                 const Use& use) {
  torch::NoGradGuard no_grad;
  for (const at::Tensor& batch_NZ : noise_NZ.split(kBatch)) {
    const at::Tensor images_NCHW =
        generator.network
            ->forward(
                batch_NZ.to(generator.compute.device, generator.compute.dtype),
                Condition(), ForwardMode::kEvaluate)
            .to(at::kCPU, at::kFloat)
            .contiguous();
    use(std::span(images_NCHW.const_data_ptr<float>(),
                  static_cast<size_t>(images_NCHW.numel())),
        ImageShape{.channels = images_NCHW.size(1),
                   .height = images_NCHW.size(2),
                   .width = images_NCHW.size(3)});
  }
}

absl::Status WriteGrid(LoadedGenerator& generator, const at::Tensor& noise_NZ,
                       int64_t columns, const std::string& path) {
  std::vector<float> grid;
  ImageShape grid_shape;
  MakeSamples(generator, noise_NZ,
              [&](std::span<const float> values, ImageShape shape) {
                grid.insert(grid.end(), values.begin(), values.end());
                grid_shape = shape;
              });
  return WritePng(path, TileImages(grid, grid_shape, columns));
}

absl::Status Export(const SampleRequest& request, const SampleReport& report,
                    uint64_t seed) {
  ImagesSpec::Generated spec;
  spec.set_checkpoint(report.checkpoint);
  spec.set_seed(seed);
  spec.set_truncation(request.truncation);
  GANDEM_ASSIGN_OR_RETURN(const std::unique_ptr<ImageSet> images,
                          GeneratedImages::Open(spec));
  return ExportImages(*images, request.num_images, report.output);
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
  MakeSamples(
      generator,
      SampleNoise(seed, /*truncation=*/0, generator.network->noise_dim(),
                  {.first = 0, .count = kCheckedSamples}),
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
  report.output = request.output;
  if (report.output.empty()) {
    const std::string folder = request.run_dir + "/samples";
    GANDEM_RETURN_IF_ERROR(CreateDirectories(folder));
    report.output = absl::StrCat(folder, "/sample-", generator.step, ".png");
  }
  report.num_images = request.num_images;
  const int64_t noise_dim = generator.network->noise_dim();
  if (IsExportPath(report.output)) {
    GANDEM_RETURN_IF_ERROR(Export(request, report, seed));
  } else if (request.interpolate > 0) {
    report.num_images *= request.interpolate;
    GANDEM_RETURN_IF_ERROR(
        WriteGrid(generator,
                  InterpolatedNoise(seed, request.truncation, noise_dim,
                                    request.num_images, request.interpolate),
                  request.interpolate, report.output));
  } else {
    GANDEM_RETURN_IF_ERROR(
        WriteGrid(generator,
                  SampleNoise(seed, request.truncation, noise_dim,
                              {.first = 0, .count = request.num_images}),
                  /*columns=*/0, report.output));
  }
  if (request.check) {
    GANDEM_ASSIGN_OR_RETURN(report.distance, Check(generator, seed));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SampleReport> RunSampleCommand(const SampleRequest& request) {
  Faults faults("sample");
  const bool exports = IsExportPath(request.output);
  faults.CheckRange("n", request.num_images, 1,
                    exports ? SampleRequest::kMaxExported
                            : SampleRequest::kMaxImages /
                                  std::max<int64_t>(1, request.interpolate));
  if (request.interpolate != 0) {
    faults.CheckRange("interpolate", request.interpolate, 2,
                      SampleRequest::kMaxSteps);
    if (exports) faults.Add("interpolate makes a grid: name a .png file");
  }
  CheckTruncation(request.truncation, faults);
  GANDEM_RETURN_IF_ERROR(faults.ToStatus());
  SampleReport report;
  GANDEM_RETURN_IF_ERROR(CatchTorch([&] { return Sample(request, report); }));
  return report;
}

}  // namespace gandem
