// SPDX-License-Identifier: Apache-2.0
#include "evaluation/feature_moments.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"
#include "evaluation/check_features.h"

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
}

absl::Status FeatureMoments::Add(const at::Tensor& features_ND) {
  GANDEM_RETURN_IF_ERROR(CheckFeatures("features", features_ND, 1));
  if (features_ND.size(1) != dim_) {
    return absl::InvalidArgumentError(
        absl::StrCat("features have ", features_ND.size(1),
                     " dimensions, those before have ", dim_));
  }
  FeatureMoments chunk(dim_);
  chunk.count_ = features_ND.size(0);
  chunk.mean_D_ = features_ND.mean(0);
  const at::Tensor centered_ND = features_ND - chunk.mean_D_;
  chunk.scatter_DD_ = centered_ND.t().mm(centered_ND);
  if (count_ + chunk.count_ <= dim_) chunk.rows_ = {features_ND.clone()};
  return Merge(chunk);
}

absl::Status FeatureMoments::Merge(const FeatureMoments& other) {
  if (other.dim_ != dim_) {
    return absl::InvalidArgumentError(
        absl::StrCat("moments of ", other.dim_,
                     " dimensions cannot be merged with those of ", dim_));
  }
  if (other.count_ == 0) return absl::OkStatus();
  const auto n_a = static_cast<double>(count_);
  const auto n_b = static_cast<double>(other.count_);
  const at::Tensor delta_D = other.mean_D_ - mean_D_;
  AddScatter(scatter_DD_, other.scatter_DD_, delta_D, n_a * n_b / (n_a + n_b));
  mean_D_ =
      count_ == 0 ? other.mean_D_ : mean_D_ + delta_D * (n_b / (n_a + n_b));
  count_ += other.count_;
  if (count_ <= dim_) {
    rows_.insert(rows_.end(), other.rows_.begin(), other.rows_.end());
  } else {
    rows_.clear();
  }
  return absl::OkStatus();
}

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
  const int64_t num_rows = features_ND.size(0);
  for (int64_t begin = 0; begin < num_rows; begin += kChunkRows) {
    GANDEM_RETURN_IF_ERROR(moments.Add(
        features_ND.slice(0, begin, std::min(begin + kChunkRows, num_rows))));
  }
  return moments.Finish();
}

}  // namespace gandem
