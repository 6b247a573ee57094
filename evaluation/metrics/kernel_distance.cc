// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/kernel_distance.h"

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "evaluation/metrics/check_features.h"
#include "models/torch.h"
#include "pipeline/data_order.h"

namespace gandem {
namespace {

at::Tensor PolynomialKernel(const at::Tensor& x_ND, const at::Tensor& y_MD,
                            int64_t degree) {
  return (x_ND.mm(y_MD.t()) / static_cast<double>(x_ND.size(1)) + 1.0)
      .pow(degree);
}

// Mean over the pairs of different rows of one set.
double MeanOfPairs(const at::Tensor& x_ND, int64_t degree) {
  const at::Tensor kernel_NN = PolynomialKernel(x_ND, x_ND, degree);
  const auto n = static_cast<double>(x_ND.size(0));
  return (kernel_NN.sum() - kernel_NN.trace()).item<double>() / (n * (n - 1));
}

// An unbiased estimate may be below 0 if the sets are alike.
double UnbiasedDiscrepancy(const at::Tensor& x_ND, const at::Tensor& y_MD,
                           int64_t degree) {
  return MeanOfPairs(x_ND, degree) + MeanOfPairs(y_MD, degree) -
         2 * PolynomialKernel(x_ND, y_MD, degree).mean().item<double>();
}

// `side`, 0 or 1, gives each set a choice of its own.
at::Tensor ChooseRows(int64_t num_rows, int64_t side,
                      const KernelDistanceOptions& options) {
  const int64_t size = options.subset_rows;
  const DataOrder order(options.seed, num_rows);
  at::Tensor rows_SR = torch::empty({options.num_subsets, size}, at::kLong);
  auto* row = rows_SR.mutable_data_ptr<int64_t>();
  for (int64_t subset = 0; subset < options.num_subsets; ++subset) {
    for (int64_t place = 0; place < size; ++place) {
      *row++ = order.Permute(2 * subset + side, place);
    }
  }
  return rows_SR;
}

absl::Status CheckRows(absl::string_view what, const at::Tensor& rows_SR,
                       int64_t num_rows) {
  if (!rows_SR.defined() || rows_SR.scalar_type() != at::kLong ||
      rows_SR.dim() != 2 || rows_SR.size(0) < 1 || rows_SR.size(1) < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, " rows are not int64 [subsets, rows] with 2 rows or more"));
  }
  const auto low = rows_SR.min().item<int64_t>();
  const auto high = rows_SR.max().item<int64_t>();
  if (low < 0 || high >= num_rows) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " row ", low < 0 ? low : high, " is not in [0, ",
                     num_rows - 1, "]"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MeanAndSd> KernelDistance(const at::Tensor& reference_ND,
                                         const at::Tensor& generated_MD,
                                         const KernelDistanceOptions& options) {
  if (options.num_subsets < 1 || options.subset_rows < 2 ||
      options.degree < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel distance: num_subsets ", options.num_subsets,
                     ", subset_rows ", options.subset_rows, " and degree ",
                     options.degree, " are not at least 1, 2 and 1"));
  }
  GANDEM_RETURN_IF_ERROR(
      CheckFeaturePair(reference_ND, generated_MD, options.subset_rows));
  return KernelDistanceOfSubsets(
      reference_ND, generated_MD, ChooseRows(reference_ND.size(0), 0, options),
      ChooseRows(generated_MD.size(0), 1, options), options.degree);
}

absl::StatusOr<MeanAndSd> KernelDistanceOfSubsets(
    const at::Tensor& reference_ND, const at::Tensor& generated_MD,
    const at::Tensor& reference_rows_SR, const at::Tensor& generated_rows_SR,
    int64_t degree) {
  GANDEM_RETURN_IF_ERROR(CheckFeaturePair(reference_ND, generated_MD, 2));
  GANDEM_RETURN_IF_ERROR(
      CheckRows("reference", reference_rows_SR, reference_ND.size(0)));
  GANDEM_RETURN_IF_ERROR(
      CheckRows("generated", generated_rows_SR, generated_MD.size(0)));
  const int64_t num_subsets = reference_rows_SR.size(0);
  if (generated_rows_SR.size(0) != num_subsets) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", num_subsets, " reference subsets and ",
                     generated_rows_SR.size(0), " generated ones"));
  }
  const at::Tensor values = torch::empty({num_subsets}, at::kDouble);
  for (int64_t subset = 0; subset < num_subsets; ++subset) {
    values[subset] = UnbiasedDiscrepancy(
        reference_ND.index_select(0, reference_rows_SR[subset]).to(at::kDouble),
        generated_MD.index_select(0, generated_rows_SR[subset]).to(at::kDouble),
        degree);
  }
  return MeanAndSd{.mean = values.mean().item<double>(),
                   .sd = values.std(/*unbiased=*/false).item<double>()};
}

}  // namespace gandem
