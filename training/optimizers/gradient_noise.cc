// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/gradient_noise.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/stack.h>

#include <cmath>

#include "common/check.h"

namespace gandem {

void GradientNoiseMeter::BeginStep(bool is_measured, int64_t step_images) {
  is_measured_ = is_measured;
  step_images_ = static_cast<double>(step_images);
  found_.clear();
  part_start_.clear();
}

std::vector<at::Tensor> GradientNoiseMeter::Copies() const {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> copies;
  for (const at::Tensor& parameter : network_->parameters()) {
    const at::Tensor& gradient = parameter.grad();
    copies.push_back(gradient.defined() ? gradient.clone() : at::Tensor());
  }
  return copies;
}

double GradientNoiseMeter::MeanSquareSince(
    const std::vector<at::Tensor>& before, int64_t images) const {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> norms;
  size_t i = 0;
  for (const at::Tensor& parameter : network_->parameters()) {
    const at::Tensor old = i < before.size() ? before[i] : at::Tensor();
    ++i;
    const at::Tensor& gradient = parameter.grad();
    if (!gradient.defined()) continue;
    const at::Tensor added = old.defined() ? gradient - old : gradient;
    norms.push_back(added.to(at::kDouble).norm());
  }
  if (norms.empty()) return 0;
  const double scale = scaler_ == nullptr ? 1 : scaler_->scale();
  const double norm = at::stack(norms).norm().item<double>() / scale *
                      (step_images_ / static_cast<double>(images));
  return norm * norm;
}

void GradientNoiseMeter::BeforeBackward(GradientNoise::Part part) {
  if (!is_measured_) return;
  piece_start_ = Copies();
  if (!found_.empty() && found_.back().part == part) return;
  found_.push_back({.part = part});
  part_start_ = piece_start_;
}

void GradientNoiseMeter::AfterBackward(int64_t images) {
  if (!is_measured_) return;
  GANDEM_CHECK(!found_.empty());
  Found& found = found_.back();
  ++found.pieces;
  found.images += images;
  found.inverse_images += 1 / static_cast<double>(images);
  found.squares += MeanSquareSince(piece_start_, images);
  found.whole_square = MeanSquareSince(part_start_, found.images);
  piece_start_.clear();
}

void GradientNoiseMeter::BeforeSum(int64_t images) {
  if (!is_measured_) return;
  part_start_.clear();
  found_.push_back({.part = GradientNoise::ALL,
                    .pieces = 1,
                    .inverse_images = 1 / static_cast<double>(images),
                    .squares = MeanSquareSince({}, images)});
}

void GradientNoiseMeter::AfterSum() {
  if (!is_measured_) return;
  Found& all = found_.back();
  GANDEM_CHECK(all.part == GradientNoise::ALL);
  all.images = static_cast<int64_t>(step_images_);
  all.whole_square = MeanSquareSince({}, all.images);
}

void GradientNoiseMeter::AddTo(RoundMetrics& metrics) const {
  for (const Found& found : found_) {
    const auto pieces = static_cast<double>(found.pieces);
    const double small_images = pieces / found.inverse_images;
    const auto images = static_cast<double>(found.images);
    if (!(small_images < images) ||
        !std::isfinite(found.squares + found.whole_square)) {
      continue;
    }
    GradientNoise& noise = *metrics.add_gradient_noise();
    noise.set_part(found.part);
    noise.set_small_images(small_images);
    noise.set_large_images(images);
    noise.set_small_square(found.squares / pieces);
    noise.set_large_square(found.whole_square);
  }
}

}  // namespace gandem
