// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/halving.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/philox.h"
#include "common/status.h"
#include "models/torch.h"
#include "pipeline/keyed_permutation.h"

namespace gandem {

absl::StatusOr<double> HalvingSd(
    int64_t num_rows, const HalvingOptions& options,
    absl::FunctionRef<absl::StatusOr<double>(const at::Tensor& rows_N)>
        statistic) {
  if (num_rows < kMinHalvingRows || num_rows > UINT32_MAX ||
      options.halvings < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("halvings: ", num_rows, " rows and ", options.halvings,
                     " halvings are not at least ", kMinHalvingRows, " and 1"));
  }
  const int64_t half = num_rows / 2;
  const KeyedPermutation order(options.seed, Purpose::kResampling, num_rows);
  const at::Tensor rows = torch::empty({2, half}, at::kLong);
  double squares = 0;
  for (int64_t halving = 0; halving < options.halvings; ++halving) {
    auto* row = rows.mutable_data_ptr<int64_t>();
    for (int64_t place = 0; place < 2 * half; ++place) {
      *row++ = order.At(halving, place);
    }
    GANDEM_ASSIGN_OR_RETURN(const double first, statistic(rows[0]));
    GANDEM_ASSIGN_OR_RETURN(const double second, statistic(rows[1]));
    squares += (first - second) * (first - second);
  }
  return std::sqrt(squares / static_cast<double>(options.halvings)) / 2;
}

}  // namespace gandem
