// SPDX-License-Identifier: Apache-2.0
#include "training/roles/training_health.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/config/role_name.h"
#include "common/crc32c.h"
#include "models/torch.h"

namespace gandem {
namespace {

constexpr int64_t kMeasuredInRounds =
    TrainingHealth::kRounds / TrainingHealth::kMeasuredEvery;
constexpr double kHugeGradient = 1e4;
constexpr int64_t kMeasuredHuge = 2;
// Half a gray level of 256, for values in [-1, 1].
constexpr double kEqualSamples = 1.0 / 255;
constexpr size_t kShownNames = 5;

uint32_t ChecksumOf(const at::Tensor& tensor) {
  const at::Tensor host = tensor.detach().to(at::kCPU).contiguous();
  return Crc32c({static_cast<const std::byte*>(host.const_data_ptr()),
                 static_cast<size_t>(host.nbytes())});
}

std::vector<uint32_t> ChecksumsOf(const TensorsByName& tensors) {
  std::vector<uint32_t> checksums;
  for (const auto& [name, tensor] : tensors) {
    checksums.push_back(ChecksumOf(tensor));
  }
  return checksums;
}

}  // namespace

void ImageMeter::AddImages(const at::Tensor& images_NCHW) {
  const torch::NoGradGuard no_grad;
  // Copy, because the images are freed before the step ends.
  if (!first_CHW_.defined()) first_CHW_ = images_NCHW[0].clone();
  squares_.Add((images_NCHW - first_CHW_).square().sum());
  images_ += images_NCHW.size(0);
}

void ImageMeter::AddGradient(const at::Tensor& gradient_NCHW, int64_t batch) {
  gradient_squares_.Add(gradient_NCHW.square().sum());
  batch_ = batch;
}

void ImageMeter::Report(RoundMetrics& metrics) const {
  const auto images = static_cast<double>(images_);
  metrics.set_image_gradient_norm(
      static_cast<double>(batch_) *
      std::sqrt(gradient_squares_.Value() / images));
  if (images_ < 2) return;
  metrics.set_image_spread(
      std::sqrt(squares_.Value() / ((images - 1) * first_CHW_.numel())));
}

void TrainingHealth::Begin(int64_t first_round, TensorsByName trained) {
  first_round_ = first_round;
  trained_ = std::move(trained);
  first_values_ = ChecksumsOf(trained_);
}

void TrainingHealth::Warn(const std::string& text, int64_t since_round,
                          RoundMetrics& metrics) const {
  HealthWarning& warning = *metrics.add_health();
  warning.set_text(
      absl::StrCat(RoleName(role_), ", round ", metrics.round(), ": ", text));
  warning.set_since_round(since_round);
}

std::vector<std::string> TrainingHealth::UnmovedNames() const {
  const std::vector<uint32_t> now = ChecksumsOf(trained_);
  std::vector<std::string> names;
  for (size_t i = 0; i < now.size(); ++i) {
    if (now[i] == first_values_[i]) names.push_back(trained_[i].first);
  }
  return names;
}

void TrainingHealth::JudgeUpdates(RoundMetrics& metrics) {
  if (rounds_ == kRounds && updated_rounds_ == 0) {
    Warn(still_rounds_ == rounds_
             ? absl::StrCat("the learning rate has been 0 in all ", rounds_,
                            " rounds: nothing is trained")
             : absl::StrCat("all updates of ", rounds_,
                            " rounds were skipped, because their gradients "
                            "were not finite: nothing is trained"),
         first_round_, metrics);
  }
  if (updated_rounds_ != kRounds || first_values_.empty()) return;
  std::vector<std::string> names = UnmovedNames();
  first_values_.clear();
  if (names.empty()) return;
  const size_t count = names.size();
  const size_t shown = std::min(count, kShownNames);
  names.resize(shown);
  Warn(absl::StrCat(
           count, " of ", trained_.size(),
           " trained parameters have not moved in ", kRounds,
           " updates: ", absl::StrJoin(names, ", "),
           count > shown ? absl::StrCat(" and ", count - shown, " more") : "",
           ". Their gradients are 0 or the learning rate is too small. A layer "
           "that nothing uses, or a bias before batch norm, belongs into ",
           RoleName(role_), ".freeze"),
       first_round_, metrics);
}

bool TrainingHealth::Lasts(bool is_there, int64_t enough, int64_t round,
                           Sign& sign) const {
  if (!is_there) {
    sign.measured = 0;
    return false;
  }
  if (sign.measured++ == 0) {
    sign.since_round = std::max(first_round_, round - kMeasuredEvery);
  }
  return sign.measured >= enough && !std::exchange(sign.is_told, true);
}

void TrainingHealth::EndRound(bool has_updated, RoundMetrics& metrics) {
  ++rounds_;
  if (metrics.learning_rate() == 0) {
    ++still_rounds_;
  } else if (has_updated) {
    ++updated_rounds_;
  }
  JudgeUpdates(metrics);
  const int64_t round = metrics.round();
  if (metrics.has_image_gradient_norm()) {
    const double norm = metrics.image_gradient_norm();
    if (Lasts(norm == 0, kMeasuredInRounds, round, no_gradient_)) {
      Warn(absl::StrCat(
               "the image gradients have been 0 for ", kRounds,
               " rounds: the discriminator tells the generator nothing. Its "
               "activations or its loss are saturated; look at its logits"),
           no_gradient_.since_round, metrics);
    }
    // The negation also catches norms that are not finite.
    if (Lasts(!(norm <= kHugeGradient), kMeasuredHuge, round, huge_gradient_)) {
      Warn(absl::StrFormat(
               "the norm of the image gradients is %.3g, above %.0g: they "
               "explode. Try a gradient penalty, spectral norm or a smaller "
               "learning rate of the discriminator",
               norm, kHugeGradient),
           huge_gradient_.since_round, metrics);
    }
  }
  if (metrics.has_image_spread() &&
      Lasts(metrics.image_spread() < kEqualSamples, kMeasuredInRounds, round,
            equal_samples_)) {
    Warn(absl::StrFormat(
             "all images of a batch have been alike for %d rounds (they differ "
             "by %.2g of values in [-1, 1]): the generator has collapsed or "
             "does not use its noise",
             kRounds, metrics.image_spread()),
         equal_samples_.since_round, metrics);
  }
}

}  // namespace gandem
