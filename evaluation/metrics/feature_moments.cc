// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/feature_moments.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"
#include "evaluation/metrics/check_features.h"
#include "models/torch.h"

namespace gandem {
namespace {

// into += scatter + weight * delta delta', in one pass over memory.
void AddScatter(at::Tensor& into_DD, const at::Tensor& scatter_DD,
                const at::Tensor& delta_D, double weight) {
  const int64_t dim = delta_D.numel();
  auto* const into = into_DD.mutable_data_ptr<double>();
  const auto* const scatter = scatter_DD.const_data_ptr<double>();
  const auto* const delta = delta_D.const_data_ptr<double>();
  at::parallel_for(0, dim, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double factor = weight * delta[i];
      for (int64_t j = 0; j < dim; ++j) {
        into[i * dim + j] += scatter[i * dim + j] + factor * delta[j];
      }
    }
  });
}

}  // namespace

FeatureMoments::FeatureMoments(int64_t dim) : dim_(dim) {
  GANDEM_CHECK(dim >= 1);
  mean_D_ = torch::zeros({dim}, at::kDouble);
  scatter_DD_ = torch::zeros({dim, dim}, at::kDouble);
  chunk_scatter_DD_ = torch::empty({0}, at::kDouble);
}

absl::Status FeatureMoments::Add(const at::Tensor& features_ND) {
  GANDEM_RETURN_IF_ERROR(CheckFeatures("features", features_ND, 1));
  if (features_ND.size(1) != dim_) {
    return absl::InvalidArgumentError(
        absl::StrCat("features have ", features_ND.size(1),
                     " dimensions, those before have ", dim_));
  }
  const at::Tensor chunk_ND = features_ND.to(at::kDouble);
  const at::Tensor mean_D = chunk_ND.mean(0);
  const at::Tensor centered_ND = chunk_ND - mean_D;
  at::mm_out(chunk_scatter_DD_, centered_ND.t(), centered_ND);
  const auto n_a = static_cast<double>(count_);
  const auto n_b = static_cast<double>(features_ND.size(0));
  const at::Tensor delta_D = mean_D - mean_D_;
  AddScatter(scatter_DD_, chunk_scatter_DD_, delta_D, n_a * n_b / (n_a + n_b));
  mean_D_ = count_ == 0 ? mean_D : mean_D_ + delta_D * (n_b / (n_a + n_b));
  count_ += features_ND.size(0);
  if (count_ <= dim_) {
    rows_.push_back(chunk_ND.clone());
  } else {
    rows_.clear();
  }
  return absl::OkStatus();
}

// The covariance is made exactly symmetric; matrix products are so only up to
// rounding.
absl::StatusOr<Moments> FeatureMoments::Finish() const {
  if (count_ < 2) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a covariance needs 2 images or more, there are ", count_));
  }
  const auto divisor = static_cast<double>(count_ - 1);
  Moments moments = {
      .count = count_,
      .mean_D = mean_D_.clone(),
      .covariance_DD = (scatter_DD_ + scatter_DD_.t()) / (2 * divisor),
      .root_ND = {}};
  if (!rows_.empty()) {
    moments.root_ND = (at::cat(rows_) - mean_D_) / std::sqrt(divisor);
  }
  return moments;
}

absl::StatusOr<Moments> MomentsOf(const at::Tensor& features_ND) {
  GANDEM_RETURN_IF_ERROR(CheckFeatures("features", features_ND, 2));
  FeatureMoments moments(features_ND.size(1));
  for (const at::Tensor& chunk_ND : features_ND.split(kChunkRows)) {
    GANDEM_RETURN_IF_ERROR(moments.Add(chunk_ND));
  }
  return moments.Finish();
}

absl::StatusOr<Moments> MomentsOfRows(const at::Tensor& features_ND,
                                      const at::Tensor& rows_N) {
  FeatureMoments moments(features_ND.size(1));
  for (const at::Tensor& chunk_N : rows_N.split(kChunkRows)) {
    GANDEM_RETURN_IF_ERROR(moments.Add(features_ND.index_select(0, chunk_N)));
  }
  return moments.Finish();
}

}  // namespace gandem
