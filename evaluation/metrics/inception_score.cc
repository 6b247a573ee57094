// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/inception_score.h"

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "evaluation/metrics/check_features.h"
#include "models/torch.h"
#include "pipeline/data_order.h"

namespace gandem {
namespace {

absl::Status CheckArguments(const at::Tensor& logits_NK, int64_t num_splits) {
  if (num_splits < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_splits ", num_splits, " is not 1 or more"));
  }
  return CheckFeatures("logits", logits_NK, num_splits);
}

// Scores the rows in the order of `rows_N`, one split at a time.
MeanAndSd ScoreOfRows(const at::Tensor& logits_NK, const at::Tensor& rows_N,
                      int64_t num_splits) {
  const int64_t num_rows = rows_N.size(0);
  const at::Tensor scores = torch::empty({num_splits}, at::kDouble);
  for (int64_t split = 0; split < num_splits; ++split) {
    const int64_t begin = split * num_rows / num_splits;
    const int64_t end = (split + 1) * num_rows / num_splits;
    const at::Tensor log_p_NK =
        logits_NK.index_select(0, rows_N.slice(0, begin, end))
            .to(at::kDouble)
            .log_softmax(1);
    const at::Tensor p_NK = log_p_NK.exp();
    const at::Tensor marginal_K = p_NK.mean(0);
    // xlogy: a class that never occurs adds nothing, not 0 * -inf.
    const at::Tensor cross = at::xlogy(p_NK, marginal_K.expand_as(p_NK));
    const at::Tensor divergence_N = (p_NK * log_p_NK - cross).sum(1);
    scores[split] = divergence_N.mean().exp();
  }
  return {.mean = scores.mean().item<double>(),
          .sd = scores.std(/*unbiased=*/false).item<double>()};
}

}  // namespace

absl::StatusOr<MeanAndSd> InceptionScore(const at::Tensor& logits_NK,
                                         const InceptionScoreOptions& options) {
  GANDEM_RETURN_IF_ERROR(CheckArguments(logits_NK, options.num_splits));
  const int64_t num_rows = logits_NK.size(0);
  const DataOrder order(options.seed, num_rows);
  const at::Tensor rows = torch::empty({num_rows}, at::kLong);
  for (int64_t i = 0; i < num_rows; ++i) {
    rows.mutable_data_ptr<int64_t>()[i] = order.Permute(0, i);
  }
  return ScoreOfRows(logits_NK, rows, options.num_splits);
}

absl::StatusOr<MeanAndSd> InceptionScoreInOrder(const at::Tensor& logits_NK,
                                                int64_t num_splits) {
  GANDEM_RETURN_IF_ERROR(CheckArguments(logits_NK, num_splits));
  return ScoreOfRows(logits_NK, torch::arange(logits_NK.size(0), at::kLong),
                     num_splits);
}

}  // namespace gandem
