// SPDX-License-Identifier: Apache-2.0
#include "evaluation/commands/sample_command.h"

#include <algorithm>
#include <span>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/faults.h"
#include "common/files/file.h"
#include "common/files/png.h"
#include "common/status.h"
#include "evaluation/images/export_images.h"
#include "evaluation/images/generated_images.h"
#include "evaluation/images/load_generator.h"
#include "models/torch.h"
#include "pipeline/sources/open_dataset.h"
#include "training/inputs/conditions.h"
#include "training/state/catch_torch.h"

namespace gandem {
namespace {

constexpr int64_t kSampleBatch = 64;
constexpr int64_t kCheckedSamples = 2048;
constexpr int64_t kCheckedRealImages = 10240;

struct Ingredients {
  at::Tensor noise_NZ = {};
  // With images defined, the grid shows each translation between its input and
  // its target.
  RealImages given = {};
};

// Generates the images and calls use(values_NCHW, shape) for each batch.
template <typename Use>
void MakeSamples(LoadedGenerator& generator, const Ingredients& ingredients,
                 const Use& use) {
  torch::NoGradGuard no_grad;
  const at::Tensor& noise_NZ = ingredients.noise_NZ;
  for (int64_t first = 0; first < noise_NZ.size(0); first += kSampleBatch) {
    const int64_t count = std::min(kSampleBatch, noise_NZ.size(0) - first);
    RealImages given = ingredients.given;
    given.condition = Narrow(given.condition, first, count);
    if (given.images_NCHW.defined()) {
      given.images_NCHW = given.images_NCHW.narrow(0, first, count);
    }
    at::Tensor images_NCHW = generator.network->forward(
        noise_NZ.narrow(0, first, count)
            .to(generator.compute.device, generator.compute.dtype),
        given.condition, ForwardMode::kEvaluate);
    if (given.images_NCHW.defined()) {
      images_NCHW = BesidePairs(given, images_NCHW);
    }
    images_NCHW = images_NCHW.to(at::kCPU, at::kFloat).contiguous();
    use(std::span(images_NCHW.const_data_ptr<float>(),
                  static_cast<size_t>(images_NCHW.numel())),
        ImageShape{.channels = images_NCHW.size(1),
                   .height = images_NCHW.size(2),
                   .width = images_NCHW.size(3)});
  }
}

// Draws the inputs of the samples in `range`. `pairs` is null unless a grid
// shows the targets of translations.
absl::StatusOr<Ingredients> DrawSamples(const SampleRequest& request,
                                        const LoadedGenerator& generator,
                                        const PairReader* pairs, uint64_t seed,
                                        IndexRange range) {
  Ingredients samples = {.noise_NZ = SampleNoise(seed, request.noise,
                                                 generator.network->noise_dim(),
                                                 range)};
  GANDEM_ASSIGN_OR_RETURN(
      samples.given,
      ReadConditions(generator.conditions, pairs, Purpose::kSample, 0, range));
  return samples;
}

// Draws the inputs of interpolations. All images of a row have the label of its
// first sample.
absl::StatusOr<Ingredients> DrawWays(const SampleRequest& request,
                                     const LoadedGenerator& generator,
                                     uint64_t seed) {
  if (generator.network->noise_dim() == 0) {
    return absl::InvalidArgumentError(
        "--interpolate needs a generator with noise, and the generator of this "
        "run translates images: leave out --interpolate");
  }
  const int64_t rows = request.num_images;
  const int64_t steps = request.interpolate;
  GANDEM_ASSIGN_OR_RETURN(
      Ingredients ways, DrawSamples(request, generator, /*pairs=*/nullptr, seed,
                                    {.first = 0, .count = 2 * rows}));
  ways.noise_NZ = InterpolatedNoise(
      seed, request.noise, generator.network->noise_dim(), rows, steps);
  at::Tensor& labels_N = ways.given.condition.labels_N;
  if (labels_N.defined()) {
    labels_N = labels_N.slice(0, 0, 2 * rows, 2).repeat_interleave(steps);
  }
  return ways;
}

// Draws one row of inputs per class, with equal noise in all rows.
absl::StatusOr<Ingredients> DrawClasses(const SampleRequest& request,
                                        const LoadedGenerator& generator,
                                        uint64_t seed) {
  const int64_t num_classes = generator.plan.data.shape.num_classes;
  GANDEM_RETURN_IF_ERROR(CheckClass(num_classes, 0));
  if (num_classes * request.per_class > SampleRequest::kMaxImages) {
    return absl::InvalidArgumentError(
        absl::StrCat(num_classes, " classes of ", request.per_class,
                     " images are more than ", SampleRequest::kMaxImages,
                     ": lower --per_class, or choose one --class"));
  }
  GANDEM_ASSIGN_OR_RETURN(
      Ingredients ingredients,
      DrawSamples(request, generator, /*pairs=*/nullptr, seed,
                  {.first = 0, .count = request.per_class}));
  ingredients.noise_NZ = ingredients.noise_NZ.repeat({num_classes, 1});
  ingredients.given.condition.labels_N =
      torch::arange(num_classes, torch::TensorOptions().dtype(at::kLong).device(
                                     generator.compute.device))
          .repeat_interleave(request.per_class);
  return ingredients;
}

absl::Status Export(const SampleRequest& request, const SampleReport& report,
                    uint64_t seed) {
  ImagesSpec::Generated spec;
  spec.set_checkpoint(report.checkpoint);
  spec.set_seed(seed);
  SetSampling(request.noise, request.standing, spec);
  if (request.only_class.has_value()) spec.set_only_class(*request.only_class);
  GANDEM_ASSIGN_OR_RETURN(const std::unique_ptr<ImageSet> images,
                          OpenGeneratedImages(spec));
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
                          RealStatistics(generator.plan.data.files));
  // The check uses labels of all classes, even with --class.
  GANDEM_RETURN_IF_ERROR(UseConditions(seed, std::nullopt, generator));
  GANDEM_ASSIGN_OR_RETURN(const Ingredients ingredients,
                          DrawSamples({}, generator, /*pairs=*/nullptr, seed,
                                      {.first = 0, .count = kCheckedSamples}));
  std::optional<PixelAccumulator> accumulator;
  MakeSamples(generator, ingredients,
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

absl::Status WriteGrid(const SampleRequest& request, LoadedGenerator& generator,
                       uint64_t seed, SampleReport& report) {
  Ingredients ingredients;
  int64_t columns = 0;
  if (request.per_class > 0) {
    GANDEM_ASSIGN_OR_RETURN(ingredients, DrawClasses(request, generator, seed));
    columns = request.per_class;
  } else if (request.interpolate > 0) {
    GANDEM_ASSIGN_OR_RETURN(ingredients, DrawWays(request, generator, seed));
    columns = request.interpolate;
  } else {
    GANDEM_ASSIGN_OR_RETURN(
        ingredients,
        DrawSamples(request, generator, generator.pairs.get(), seed,
                    {.first = 0, .count = request.num_images}));
  }
  report.num_images = ingredients.noise_NZ.size(0);
  std::vector<float> grid;
  ImageShape grid_shape;
  MakeSamples(generator, ingredients,
              [&](std::span<const float> values, ImageShape shape) {
                grid.insert(grid.end(), values.begin(), values.end());
                grid_shape = shape;
              });
  return WritePng(report.output, TileImages(grid, grid_shape, columns));
}

absl::StatusOr<SampleReport> Sample(const SampleRequest& request) {
  GANDEM_ASSIGN_OR_RETURN(
      LoadedGenerator generator,
      LoadGenerator(request.run_dir, request.checkpoint, request.weights));
  SampleReport report;
  report.checkpoint = generator.checkpoint;
  report.step = generator.step;
  report.skipped = generator.skipped;
  const uint64_t seed = request.seed.value_or(generator.plan.samples.seed);
  report.output = request.output;
  if (report.output.empty()) {
    const std::string folder = request.run_dir + "/samples";
    GANDEM_RETURN_IF_ERROR(CreateDirectories(folder));
    report.output = absl::StrCat(folder, "/sample-", generator.step, ".png");
  }
  report.num_images = request.num_images;
  GANDEM_RETURN_IF_ERROR(UseConditions(seed, request.only_class, generator));
  GANDEM_RETURN_IF_ERROR(UseTruncation(request.noise.psi, generator));
  GANDEM_RETURN_IF_ERROR(
      UseStandingStatistics(request.standing, seed, generator));
  GANDEM_RETURN_IF_ERROR(
      UseNoiseInputs(request.noise.random_inputs, seed, generator));
  if (IsExportPath(report.output)) {
    GANDEM_RETURN_IF_ERROR(Export(request, report, seed));
  } else {
    GANDEM_RETURN_IF_ERROR(WriteGrid(request, generator, seed, report));
  }
  if (request.check) {
    GANDEM_ASSIGN_OR_RETURN(report.distance, Check(generator, seed));
  }
  return report;
}

}  // namespace

absl::StatusOr<SampleReport> RunSampleCommand(const SampleRequest& request) {
  Faults faults("arguments");
  const bool exports = IsExportPath(request.output);
  if (!exports && !request.output.empty() &&
      !absl::EndsWithIgnoreCase(request.output, ".png")) {
    faults.Add(absl::StrCat("output '", request.output,
                            "' is neither a grid (.png) nor single images "
                            "(.tar, .npz, or a folder that ends with /)"));
  }
  faults.CheckRange("n", request.num_images, 1,
                    exports ? SampleRequest::kMaxExported
                            : SampleRequest::kMaxImages /
                                  std::max<int64_t>(1, request.interpolate));
  if (request.interpolate != 0) {
    faults.CheckRange("interpolate", request.interpolate, 2,
                      SampleRequest::kMaxSteps);
    if (exports) faults.Add("interpolate writes a grid: name a .png file");
  }
  if (request.per_class != 0) {
    faults.CheckRange("per_class", request.per_class, 1,
                      SampleRequest::kMaxImages);
    if (exports) faults.Add("per_class writes a grid: name a .png file");
    if (request.interpolate != 0 || request.only_class.has_value()) {
      faults.Add("per_class goes with neither interpolate nor class");
    }
  }
  CheckNoise(request.noise, faults);
  CheckStanding(request.standing, faults);
  GANDEM_RETURN_IF_ERROR(faults.ToStatus());
  return CatchTorchOr([&] { return Sample(request); });
}

}  // namespace gandem
