// SPDX-License-Identifier: Apache-2.0
#include "training/losses.h"

#include <torch/torch.h>

#include "common/check.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

// softplus(x) without the cut-off of at::softplus, which is linear above 20.
at::Tensor Softplus(const at::Tensor& x) { return -at::log_sigmoid(-x); }

at::Tensor Average(const at::Tensor& losses_N, int64_t batch_size) {
  GANDEM_CHECK(batch_size >= losses_N.numel());
  return losses_N.sum() / static_cast<double>(batch_size);
}

}  // namespace

AdversarialLoss AdversarialLossOf(Loss loss) {
  switch (loss) {
    case NON_SATURATING:
      return AdversarialLoss::kNonSaturating;
    case HINGE:
      return AdversarialLoss::kHinge;
  }
  GANDEM_CHECK(false && "every Loss has a case");
  return AdversarialLoss::kNonSaturating;
}

at::Tensor RealLoss(AdversarialLoss loss, const at::Tensor& logits_N,
                    int64_t batch_size) {
  return Average(loss == AdversarialLoss::kHinge ? at::relu(1 - logits_N)
                                                 : Softplus(-logits_N),
                 batch_size);
}

at::Tensor GeneratedLoss(AdversarialLoss loss, const at::Tensor& logits_N,
                         int64_t batch_size) {
  return Average(loss == AdversarialLoss::kHinge ? at::relu(1 + logits_N)
                                                 : Softplus(logits_N),
                 batch_size);
}

at::Tensor GeneratorLoss(AdversarialLoss loss, const at::Tensor& logits_N,
                         int64_t batch_size) {
  return Average(
      loss == AdversarialLoss::kHinge ? -logits_N : Softplus(-logits_N),
      batch_size);
}

}  // namespace gandem
