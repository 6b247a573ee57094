// SPDX-License-Identifier: Apache-2.0
#include "training/objective/critic.h"

#include <bit>
#include <vector>

#include "models/torch.h"
#include "training/objective/augment.h"

namespace gandem {
namespace {

// Disables the gradients of a module's parameters within a scope. Backward
// passes then skip the parameters and leave their .grad unchanged.
class FrozenParameters {
 public:
  explicit FrozenParameters(torch::nn::Module& module)
      : parameters_(module.parameters()) {
    // The destructor must not enable parameters of RoleConfig.freeze.
    std::erase_if(parameters_, [](const at::Tensor& parameter) {
      return !parameter.requires_grad();
    });
    for (at::Tensor& parameter : parameters_)
      parameter.set_requires_grad(false);
  }
  ~FrozenParameters() {
    for (at::Tensor& parameter : parameters_) parameter.set_requires_grad(true);
  }
  FrozenParameters(const FrozenParameters&) = delete;
  FrozenParameters& operator=(const FrozenParameters&) = delete;

 private:
  std::vector<at::Tensor> parameters_;
};

// Returns the critic's logits, without gradients, of the real images that a
// relativistic loss compares with.
Logits RealLogits(Discriminator& critic, const JudgedImages& judged,
                  const Condition& condition, const ObjectiveOptions& objective,
                  const DrawKey& key, const Compute& compute) {
  const torch::NoGradGuard no_grad;
  const at::Tensor real_NCHW = Augment(InLayout(judged.real_NCHW, compute),
                                       objective.augmentation, critic, key);
  return critic
      .forward(real_NCHW, condition.At(key.place()), ForwardMode::kFrozen)
      .logits;
}

}  // namespace

// The scale is a power of 2, so values that stay in range do not change. It
// depends only on the arguments, so every process that judges these images with
// this critic gets the same bits. An image's share of the value is about 1 /
// batch_size, so the slope at the logits is at most some hundreds. If the
// gradient overflows in lower layers, the scale is halved until it fits.
at::Tensor FeedbackGradient(const at::Tensor& value, const at::Tensor& leaf,
                            int64_t batch_size, const Compute& compute,
                            bool retain_graph) {
  if (!compute.NeedsLossScale()) {
    return torch::autograd::grad({value}, {leaf}, {}, retain_graph).front();
  }
  constexpr double kSlope = 256;
  constexpr int kTries = 24;
  double scale = kSlope * static_cast<double>(
                              std::bit_ceil(static_cast<uint64_t>(batch_size)));
  at::Tensor gradient;
  for (int i = 0; i < kTries; ++i, scale /= 2) {
    gradient = torch::autograd::grad({value * scale}, {leaf}, {},
                                     /*retain_graph=*/true)
                   .front();
    if (gradient.isfinite().all().item<bool>()) break;
    if (!value.isfinite().item<bool>()) break;  // no scale helps
  }
  return gradient / scale;
}

Judgment JudgeImages(Discriminator& critic, const JudgedImages& judged,
                     const ObjectiveOptions& objective, int64_t batch_size,
                     const Compute& compute) {
  FrozenParameters frozen(critic);
  torch::AutoGradMode with_gradient(true);
  const KernelScope kernels(compute);
  const auto key = [&](Purpose purpose) {
    return DrawKey{.seed = objective.seed,
                   .purpose = purpose,
                   .step = judged.round,
                   .first_index = judged.first_index};
  };
  // A new leaf with canonical strides, whatever the source of the images.
  at::Tensor leaf = InLayout(judged.images_NCHW.detach(), compute);
  leaf.set_requires_grad(true);
  Condition condition = judged.condition;
  if (condition.images_NCHW.defined()) {
    condition.images_NCHW = InLayout(condition.images_NCHW, compute);
  }
  const DrawKey judged_key = key(Purpose::kAugmentJudged);
  const Verdict verdict =
      critic.forward(Augment(leaf, objective.augmentation, critic, judged_key),
                     condition.At(judged_key.place()), ForwardMode::kFrozen);
  at::Tensor value;
  if (IsRelativistic(objective.loss)) {
    value =
        GeneratorPairLoss(objective.loss,
                          RealLogits(critic, judged, condition, objective,
                                     key(Purpose::kAugmentJudgedReal), compute),
                          verdict.logits);
  } else {
    value = GeneratorLoss(objective.loss, verdict.logits, batch_size);
  }
  if (objective.has_class_loss()) {
    value = value +
            ClassLoss(objective.class_loss, verdict, judged.condition.labels_N);
  }
  const at::Tensor gradient = FeedbackGradient(value, leaf, batch_size, compute,
                                               /*retain_graph=*/false);
  return {.gradient_NCHW = InLayout(gradient, compute),
          .loss = DeviceSum(value)};
}

}  // namespace gandem
