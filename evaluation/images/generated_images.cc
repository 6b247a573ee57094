// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/generated_images.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/faults.h"
#include "common/files/sha256.h"
#include "common/status.h"
#include "evaluation/images/load_generator.h"
#include "models/torch.h"
#include "pipeline/sources/open_dataset.h"
#include "training/state/catch_torch.h"

namespace gandem {
namespace {

// Path lengths compare images of about this size, as in StyleGAN's code.
constexpr int64_t kPathPixels = 256;

NoiseOptions NoiseOf(const ImagesSpec::Generated& spec) {
  return {.truncation = spec.truncation(),
          .scale = spec.has_noise_scale() ? spec.noise_scale() : 1,
          .psi = spec.has_truncation_psi() ? spec.truncation_psi() : 1,
          .random_inputs = spec.random_noise_inputs()};
}

StandingOptions StandingOf(const ImagesSpec::Generated& spec) {
  if (spec.standing_steps() == 0) return {};
  return {.steps = spec.standing_steps(), .max_batch = spec.standing_batch()};
}

std::string StatisticsText(const StandingOptions& options) {
  if (options.steps == 0) return "running averages of the training";
  return absl::StrCat("standing, ", options.steps, " batches of up to ",
                      options.max_batch);
}

class GeneratedImages : public ImageSet {
 public:
  GeneratedImages(const ImagesSpec::Generated& spec, LoadedGenerator generator)
      : spec_(spec), generator_(std::move(generator)) {}

  // Makes one image to learn the shape and to test the device.
  absl::Status TryOut() {
    const torch::NoGradGuard no_grad;
    if (spec_.has_path_epsilon() && generator_.pairs) {
      return absl::InvalidArgumentError(
          "this generator translates images, so there is no path between two "
          "noises to measure");
    }
    GANDEM_ASSIGN_OR_RETURN(at::Tensor image,
                            ReadImages({.first = 0, .count = 1}));
    if (spec_.has_path_epsilon()) image = image.chunk(2, /*dim=*/1)[0];
    shape_ = {.channels = image.size(1),
              .height = image.size(2),
              .width = image.size(3)};
    return absl::OkStatus();
  }

  int64_t size() const override {
    return generator_.pairs ? generator_.pairs->size()
                            : std::numeric_limits<int64_t>::max();
  }
  ImageShape shape() const override { return shape_; }
  absl::StatusOr<ImagesCard> Describe() const override {
    std::string weights;
    for (const std::string& file : generator_.files) {
      GANDEM_ASSIGN_OR_RETURN(
          const std::string of_file,
          Sha256OfFile(absl::StrCat(generator_.checkpoint, "/", file)));
      weights += of_file;
    }
    const DataConfig& data = generator_.plan.data.files;
    const int64_t num_classes = generator_.plan.data.shape.num_classes;
    ImagesCard card;
    card.set_kind("generated");
    card.set_channels(shape_.channels);
    card.set_height(shape_.height);
    card.set_width(shape_.width);
    card.set_quantization(kQuantization);
    GeneratorCard& generator = *card.mutable_generator();
    generator.set_step(generator_.step);
    generator.set_seed(spec_.seed());
    generator.set_truncation(spec_.truncation());
    if (spec_.has_noise_scale()) generator.set_noise_scale(spec_.noise_scale());
    if (spec_.has_truncation_psi()) {
      generator.set_truncation_psi(spec_.truncation_psi());
    }
    generator.set_noise_inputs(generator_.noise_inputs);
    generator.set_standing_statistics(StatisticsText(StandingOf(spec_)));
    generator.set_weights(absl::StrCat("exponential moving average, decay ",
                                       generator_.plan.ema.decay));
    if (num_classes > 0) {
      generator.set_labels(
          spec_.has_only_class()
              ? absl::StrCat("class ", spec_.only_class(), " of ", num_classes)
              : absl::StrCat(data.generated_labels() == DataConfig::UNIFORM
                                 ? "uniform over "
                                 : "as in the dataset, of ",
                             num_classes, " classes"));
    }
    if (generator_.pairs) {
      GANDEM_ASSIGN_OR_RETURN(const std::string inputs, HashOfInputs(data));
      generator.set_inputs(inputs);
    }
    Sha256 hash;
    hash.Update(absl::StrCat(
        "generated ", weights, " ", spec_.seed(), " ", spec_.truncation(), " ",
        spec_.device(), " ", data.image_size(), " ",
        generator_.compute.dtype == at::kDouble ? 1 : 0, " "));
    hash.Update(generator_.plan.generator.network.network.SerializeAsString());
    hash.Update(generator.labels());
    hash.Update(absl::StrCat(" ", generator.noise_scale(), " ",
                             generator.standing_statistics(), " ",
                             generator.inputs()));
    if (spec_.has_truncation_psi()) {
      hash.Update(absl::StrCat(" psi ", spec_.truncation_psi()));
    }
    if (spec_.random_noise_inputs()) hash.Update(" noise random");
    if (spec_.has_path_epsilon()) {
      hash.Update(absl::StrCat(" path ", spec_.path_epsilon()));
      card.set_quantization("none");
    }
    card.set_sha256(hash.Finish());
    return card;
  }

 protected:
  absl::StatusOr<at::Tensor> ReadImages(IndexRange range) override {
    const int64_t noise_dim = generator_.network->noise_dim();
    if (!spec_.has_path_epsilon()) {
      GANDEM_ASSIGN_OR_RETURN(
          const at::Tensor images_NCHW,
          Make(SampleNoise(spec_.seed(), NoiseOf(spec_), noise_dim, range),
               range));
      return QuantizeImages(images_NCHW);
    }
    const at::Tensor ends = PathNoise(spec_.seed(), NoiseOf(spec_), noise_dim,
                                      range, spec_.path_epsilon());
    GANDEM_ASSIGN_OR_RETURN(const at::Tensor from_NCHW, Make(ends[0], range));
    GANDEM_ASSIGN_OR_RETURN(const at::Tensor to_NCHW, Make(ends[1], range));
    const at::Tensor pairs =
        at::cat({from_NCHW, to_NCHW}, /*dim=*/1).to(at::kCPU, at::kFloat);
    const int64_t factor = std::min(pairs.size(2), pairs.size(3)) / kPathPixels;
    return factor < 2 ? pairs : at::avg_pool2d(pairs, {factor, factor});
  }

 private:
  // Returns images in the generator's type, on its device.
  absl::StatusOr<at::Tensor> Make(const at::Tensor& noise_NZ,
                                  IndexRange range) {
    const Compute& compute = generator_.compute;
    GANDEM_ASSIGN_OR_RETURN(const Condition condition,
                            generator_.conditions(Purpose::kSample, 0, range));
    at::Tensor images_NCHW =
        generator_.network->forward(noise_NZ.to(compute.device, compute.dtype),
                                    condition, ForwardMode::kEvaluate);
    if (!images_NCHW.isfinite().all().item<bool>()) {
      return absl::DataLossError(absl::StrCat(
          spec_.checkpoint(),
          ": the generator makes NaN or infinite pixels: its training has "
          "diverged; evaluate an older checkpoint (--checkpoint)"));
    }
    return images_NCHW;
  }

  const ImagesSpec::Generated spec_;
  LoadedGenerator generator_;
  ImageShape shape_;
};

}  // namespace

void SetSampling(const NoiseOptions& noise, const StandingOptions& standing,
                 ImagesSpec::Generated& spec) {
  spec.set_truncation(noise.truncation);
  if (noise.scale != 1) spec.set_noise_scale(noise.scale);
  if (noise.psi != 1) spec.set_truncation_psi(noise.psi);
  spec.set_random_noise_inputs(noise.random_inputs);
  if (standing.steps == 0) return;
  spec.set_standing_steps(standing.steps);
  spec.set_standing_batch(standing.max_batch);
}

absl::StatusOr<std::unique_ptr<ImageSet>> OpenGeneratedImages(
    const ImagesSpec::Generated& spec) {
  Faults faults("generated images");
  CheckNoise(NoiseOf(spec), faults);
  CheckStanding(StandingOf(spec), faults);
  GANDEM_RETURN_IF_ERROR(faults.ToStatus());
  GANDEM_ASSIGN_OR_RETURN(
      LoadedGenerator loaded,
      LoadCheckpoint(spec.checkpoint(),
                     spec.device().empty() ? "cpu" : spec.device()));
  GANDEM_RETURN_IF_ERROR(UseConditions(
      spec.seed(),
      spec.has_only_class() ? std::optional(spec.only_class()) : std::nullopt,
      loaded));
  GANDEM_RETURN_IF_ERROR(UseTruncation(NoiseOf(spec).psi, loaded));
  GANDEM_RETURN_IF_ERROR(CatchTorch([&] {
    return UseStandingStatistics(StandingOf(spec), spec.seed(), loaded);
  }));
  GANDEM_RETURN_IF_ERROR(
      UseNoiseInputs(spec.random_noise_inputs(), spec.seed(), loaded));
  auto images = std::make_unique<GeneratedImages>(spec, std::move(loaded));
  GANDEM_RETURN_IF_ERROR(CatchTorch([&] { return images->TryOut(); }));
  return images;
}

}  // namespace gandem
