// SPDX-License-Identifier: Apache-2.0
#include "extras/fid_infinity/extrapolated_distance.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "evaluation/metrics/check_features.h"
#include "models/torch.h"
#include "pipeline/data_order.h"

namespace gandem {
namespace {

constexpr int64_t kPoints = 15;
constexpr int64_t kSmallestPart = 10;  // the smallest subset is a tenth

absl::Status CheckSubset(const at::Tensor& rows_N, int64_t num_rows) {
  if (!rows_N.defined() || rows_N.scalar_type() != at::kLong ||
      rows_N.dim() != 1 || rows_N.size(0) < 2) {
    return absl::InvalidArgumentError(
        "a subset to extrapolate from is not int64 [2 or more rows]");
  }
  const auto low = rows_N.min().item<int64_t>();
  const auto high = rows_N.max().item<int64_t>();
  if (low >= 0 && high < num_rows) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "row ", low < 0 ? low : high,
      " of a subset to extrapolate from is not in [0, ", num_rows - 1, "]"));
}

// Value at x = 0 of the least-squares line.
absl::StatusOr<double> LineAtZero(const std::vector<double>& x,
                                  const std::vector<double>& y) {
  const auto count = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / count;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / count;
  double xx = 0;
  double xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  if (!(xx > 0)) {
    return absl::InvalidArgumentError(
        "subsets to extrapolate from must have two sizes or more");
  }
  return mean_y - mean_x * xy / xx;
}

}  // namespace

std::vector<int64_t> ExtrapolationSizes(int64_t num_images) {
  const auto first = static_cast<double>(num_images / kSmallestPart);
  const double step = (static_cast<double>(num_images) - first) / (kPoints - 1);
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i + 1 < kPoints; ++i) {
    sizes.push_back(
        static_cast<int64_t>(first + static_cast<double>(i) * step));
  }
  sizes.push_back(num_images);
  return sizes;
}

absl::StatusOr<double> ExtrapolatedDistance(const FrechetReference& reference,
                                            const at::Tensor& features_ND,
                                            uint64_t seed) {
  GANDEM_RETURN_IF_ERROR(
      CheckFeatures("generated features", features_ND, kLeastToExtrapolate));
  const int64_t num_rows = features_ND.size(0);
  const DataOrder order(seed, num_rows);
  std::vector<at::Tensor> subsets;
  for (const int64_t size : ExtrapolationSizes(num_rows)) {
    at::Tensor rows_N = torch::empty({size}, at::kLong);
    auto* row = rows_N.mutable_data_ptr<int64_t>();
    const auto turn = static_cast<int64_t>(subsets.size());
    for (int64_t place = 0; place < size; ++place) {
      *row++ = order.Permute(turn, place);
    }
    subsets.push_back(std::move(rows_N));
  }
  return ExtrapolatedDistanceOfSubsets(reference, features_ND, subsets);
}

absl::StatusOr<double> ExtrapolatedDistanceOfSubsets(
    const FrechetReference& reference, const at::Tensor& features_ND,
    const std::vector<at::Tensor>& subsets) {
  GANDEM_RETURN_IF_ERROR(CheckFeatures("generated features", features_ND, 2));
  std::vector<double> inverse_sizes;
  std::vector<double> distances;
  for (const at::Tensor& rows_N : subsets) {
    GANDEM_RETURN_IF_ERROR(CheckSubset(rows_N, features_ND.size(0)));
    GANDEM_ASSIGN_OR_RETURN(const Moments moments,
                            MomentsOfRows(features_ND, rows_N));
    GANDEM_ASSIGN_OR_RETURN(const double distance,
                            reference.DistanceTo(moments));
    inverse_sizes.push_back(1.0 / static_cast<double>(rows_N.size(0)));
    distances.push_back(distance);
  }
  return LineAtZero(inverse_sizes, distances);
}

}  // namespace gandem
