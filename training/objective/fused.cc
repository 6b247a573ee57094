// SPDX-License-Identifier: Apache-2.0
#include "training/objective/fused.h"

#include "models/torch.h"
#include "training/objective/critic.h"

namespace gandem {
namespace {

at::Tensor Detached(const at::Tensor& values) { return values.detach(); }

// Returns each image's share of the generator's loss [N].
at::Tensor LossShares(const TrainingPass& pass,
                      const ObjectiveOptions& objective, int64_t batch_size) {
  const Logits& logits = pass.verdict.logits;
  const int64_t count = pass.images_NCHW.size(0);
  const auto evenly = [&](const at::Tensor& loss) {
    return (loss / static_cast<double>(count)).expand({count});
  };
  at::Tensor shares_N =
      IsRelativistic(objective.loss)
          ? evenly(GeneratorPairLoss(objective.loss,
                                     pass.real_logits.Each(Detached), logits))
          : GeneratorLosses(objective.loss, logits, batch_size);
  if (objective.has_class_loss()) {
    shares_N = shares_N + evenly(ClassLoss(objective.class_loss, pass.verdict,
                                           pass.labels_N));
  }
  return shares_N;
}

TrainedJudgment JudgmentOf(const at::Tensor& gradient_NCHW,
                           const at::Tensor& shares_N) {
  const at::Tensor losses =
      shares_N.detach().to(at::kCPU, at::kDouble).contiguous();
  const double* const first = losses.const_data_ptr<double>();
  return {.gradient_NCHW = gradient_NCHW,
          .losses = {first, first + losses.numel()}};
}

// Smallest root slope to divide by, times the batch size (chosen). Leaves 23
// decimal orders of magnitude of float32 for the gradients in a network.
constexpr double kSmallestRootSlope = 1e-15;

}  // namespace

at::Tensor RootSlopesOfLoss(const at::Tensor& slopes_N, int64_t batch_size) {
  const double smallest = kSmallestRootSlope / static_cast<double>(batch_size);
  const bool divides = (slopes_N.abs() >= smallest).all().item<bool>();
  return divides ? slopes_N : at::Tensor();
}

TrainedJudgment JudgeTrained(const TrainingPass& pass,
                             const ObjectiveOptions& objective,
                             int64_t batch_size, const Compute& compute) {
  const at::Tensor shares_N = LossShares(pass, objective, batch_size);
  const at::Tensor gradient_NCHW =
      FeedbackGradient(shares_N.sum(), pass.images_NCHW, batch_size, compute,
                       /*retain_graph=*/true);
  return JudgmentOf(gradient_NCHW, shares_N);
}

TrainedJudgment JudgeAfterBackward(const TrainingPass& pass,
                                   const ObjectiveOptions& objective,
                                   int64_t batch_size) {
  const torch::NoGradGuard no_grad;
  const at::Tensor slopes_N =
      GeneratorSlopes(objective.loss, pass.verdict.logits.One(), batch_size) /
      pass.root_slopes_N;
  const at::Tensor& gradient_NCHW = pass.images_NCHW.grad();
  return JudgmentOf(
      gradient_NCHW * slopes_N.to(gradient_NCHW.dtype()).view({-1, 1, 1, 1}),
      LossShares(pass, objective, batch_size));
}

}  // namespace gandem
