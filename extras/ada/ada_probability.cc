// SPDX-License-Identifier: Apache-2.0
#include "extras/ada/ada_probability.h"

#include <cmath>
#include <utility>

#include "extras/ada/ada_pipeline.h"
#include "models/torch.h"

namespace gandem {
namespace {

constexpr char kBuffer[] = "ada_images";

// Excess of r_t over the target, as a sum of signs.
double Excess(int64_t signs, int64_t logits, double target) {
  return static_cast<double>(signs) - target * static_cast<double>(logits);
}

}  // namespace

void RegisterAdaBuffer(const AdaOptions& options,
                       torch::nn::Module& discriminator) {
  if (!options.adaptive) return;
  const int64_t images =
      std::llround(options.p * static_cast<double>(options.images_to_full));
  const auto parameters = discriminator.parameters();
  const at::Device device =
      parameters.empty() ? at::Device(at::kCPU) : parameters.front().device();
  discriminator.register_buffer(
      kBuffer,
      torch::full({}, images, at::TensorOptions(at::kLong).device(device)));
}

double AdaProbabilityOf(const AdaOptions& options,
                        const torch::nn::Module& discriminator) {
  const auto buffers = discriminator.named_buffers(/*recurse=*/false);
  const at::Tensor* const images = buffers.find(kBuffer);
  if (images == nullptr) return options.p;
  return static_cast<double>(images->item<int64_t>()) /
         static_cast<double>(options.images_to_full);
}

AdaProbability::AdaProbability(const AdaOptions& options,
                               torch::nn::Module* discriminator,
                               int64_t batch_size)
    : options_(options),
      discriminator_(discriminator),
      batch_size_(batch_size) {
  if (options.adaptive) counts_4_ = torch::zeros({4}, torch::kInt64);
}

void AdaProbability::Add(const at::Tensor& logits) {
  if (!options_.adaptive) return;
  step_signs_ += logits.detach().sign().to(at::kLong).sum().item<int64_t>();
  step_logits_ += logits.numel();
}

void AdaProbability::EndStep(int64_t step, FleetGather* fleet) {
  if (!options_.adaptive) return;
  if (fleet != nullptr) {
    // Both are integers, which doubles hold exactly.
    const at::Tensor sums_2 =
        fleet
            ->Gather(torch::tensor({static_cast<double>(step_signs_),
                                    static_cast<double>(step_logits_)},
                                   at::kDouble))
            .sum(0);
    step_signs_ = sums_2[0].to(at::kLong).item<int64_t>();
    step_logits_ = sums_2[1].to(at::kLong).item<int64_t>();
  }
  int64_t* const counts = counts_4_.mutable_data_ptr<int64_t>();
  counts[0] += step_signs_;
  counts[1] += step_logits_;
  step_signs_ = step_logits_ = 0;
  if ((step + 1) % options_.interval != 0) return;
  const double excess = Excess(counts[0], counts[1], options_.target);
  const int64_t direction = (excess > 0) - (excess < 0);
  const torch::NoGradGuard no_grad;
  at::Tensor images = discriminator_->named_buffers(/*recurse=*/false)[kBuffer];
  images.add_(direction * options_.interval * batch_size_)
      .clamp_(0, options_.images_to_full);
  counts[2] = std::exchange(counts[0], 0);
  counts[3] = std::exchange(counts[1], 0);
}

double AdaProbability::p() const {
  return AdaProbabilityOf(options_, *discriminator_);
}

std::optional<double> AdaProbability::mean_sign() const {
  if (!options_.adaptive) return std::nullopt;
  const int64_t* const counts = counts_4_.const_data_ptr<int64_t>();
  if (counts[3] == 0) return std::nullopt;
  return static_cast<double>(counts[2]) / static_cast<double>(counts[3]);
}

TensorsByName AdaProbability::State() const {
  if (!options_.adaptive) return {};
  return {{"ada_counts", counts_4_}};
}

AdaFunctions AdaExtra() {
  return {
      .add_buffer = &RegisterAdaBuffer,
      .augment = [](const at::Tensor& images_NCHW, const AdaOptions& options,
                    const torch::nn::Module& discriminator,
                    const DrawKey& key) -> at::Tensor {
        const double p = AdaProbabilityOf(options, discriminator);
        if (p == 0) return images_NCHW;
        return AdaAugment(images_NCHW, p,
                          UniformDraws(key, images_NCHW.size(0), kAdaDraws));
      },
      .new_controller =
          [](const AdaOptions& options, torch::nn::Module* discriminator,
             int64_t batch_size) -> std::unique_ptr<AdaController> {
        return std::make_unique<AdaProbability>(options, discriminator,
                                                batch_size);
      }};
}

}  // namespace gandem
