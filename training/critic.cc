// SPDX-License-Identifier: Apache-2.0
#include "training/critic.h"

#include <torch/torch.h>

#include <vector>

namespace gandem {
namespace {

// Parameters that want no gradient for a while: the backward pass then skips
// their part and leaves their .grad alone.
class FrozenParameters {
 public:
  explicit FrozenParameters(torch::nn::Module& module)
      : parameters_(module.parameters()) {
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

}  // namespace

Judgment JudgeImages(Discriminator& critic, const at::Tensor& images_NCHW,
                     const Condition& condition, AdversarialLoss loss,
                     int64_t batch_size, const Compute& compute) {
  FrozenParameters frozen(critic);
  torch::AutoGradMode with_gradient(true);
  // Always a fresh leaf with canonical strides, wherever the images come from.
  at::Tensor leaf = InLayout(images_NCHW.detach(), compute);
  leaf.set_requires_grad(true);
  const Verdict verdict = critic.forward(leaf, condition, ForwardMode::kFrozen);
  const at::Tensor value = GeneratorLoss(loss, verdict.logits_N, batch_size);
  const at::Tensor gradient = torch::autograd::grad({value}, {leaf}).front();
  return {.gradient_NCHW = InLayout(gradient, compute),
          .loss = value.item<double>()};
}

}  // namespace gandem
