// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/precision_recall.h"

#include <algorithm>
#include <limits>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "evaluation/metrics/check_features.h"
#include "models/torch.h"

namespace gandem {
namespace {

constexpr int64_t kBlockDistances = int64_t{1} << 22;  // 32 MiB

// Squared distances that differ by less than this fraction of the squared
// lengths count as equal: rounding in a matrix product depends on the place of
// the rows.
constexpr double kRounding = 1e-12;

// Rows with their squared lengths.
struct Rows {
  at::Tensor x_ND;
  at::Tensor squares_N;

  explicit Rows(const at::Tensor& x) : x_ND(x), squares_N(x.square().sum(1)) {}
  int64_t size() const { return x_ND.size(0); }
};

// Visits the squared distances of rows [begin, end) of `a` to all of `b`.
void ForEachBlock(const Rows& a, const Rows& b,
                  absl::FunctionRef<void(int64_t begin, int64_t end,
                                         const at::Tensor& squared_NM)>
                      visit) {
  const int64_t step = std::max(kBlockDistances / b.size(), int64_t{1});
  for (int64_t begin = 0; begin < a.size(); begin += step) {
    const int64_t end = std::min(begin + step, a.size());
    at::Tensor squared_NM =
        at::addmm(b.squares_N.unsqueeze(0), a.x_ND.slice(0, begin, end),
                  b.x_ND.t(), /*beta=*/1, /*alpha=*/-2);
    squared_NM.add_(a.squares_N.slice(0, begin, end).unsqueeze(1));
    visit(begin, end, squared_NM.clamp_min_(0));
  }
}

// Squared radii of every row's balls.
struct Radii {
  at::Tensor near_N;     // options.neighbors
  at::Tensor density_N;  // options.density_neighbors
};

// Both radii come from one search for the nearest rows.
Radii RadiiOf(const Rows& rows, const PrecisionRecallOptions& options) {
  const Radii radii = {.near_N = torch::empty_like(rows.squares_N),
                       .density_N = torch::empty_like(rows.squares_N)};
  const int64_t most = std::max(options.neighbors, options.density_neighbors);
  ForEachBlock(
      rows, rows, [&](int64_t begin, int64_t end, const at::Tensor& squared) {
        squared.diagonal(begin).fill_(
            std::numeric_limits<double>::infinity());  // not its own neighbor
        const at::Tensor nearest = std::get<0>(
            squared.topk(most, /*dim=*/1, /*largest=*/false, /*sorted=*/true));
        radii.near_N.slice(0, begin, end)
            .copy_(nearest.select(1, options.neighbors - 1));
        radii.density_N.slice(0, begin, end)
            .copy_(nearest.select(1, options.density_neighbors - 1));
      });
  return radii;
}

double MeanOf(const at::Tensor& flags) {
  return flags.to(at::kDouble).mean().item<double>();
}

}  // namespace

absl::StatusOr<PrecisionRecall> ComputePrecisionRecall(
    const at::Tensor& reference_ND, const at::Tensor& generated_MD,
    const PrecisionRecallOptions& options) {
  if (options.neighbors < 1 || options.density_neighbors < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("precision and recall: neighbors ", options.neighbors,
                     " and density_neighbors ", options.density_neighbors,
                     " are not 1 or more"));
  }
  GANDEM_RETURN_IF_ERROR(CheckFeaturePair(
      reference_ND, generated_MD,
      std::max(options.neighbors, options.density_neighbors) + 1));
  // Centered rows are smaller, so fewer digits cancel.
  const at::Tensor exact_ND = reference_ND.to(at::kDouble);
  const at::Tensor center_D = exact_ND.mean(0);
  const Rows reference(exact_ND - center_D);
  const Rows generated(generated_MD.to(at::kDouble) - center_D);
  const Radii reference_radii = RadiiOf(reference, options);
  const Radii generated_radii = RadiiOf(generated, options);

  const at::Tensor precise_M = torch::zeros({generated.size()}, at::kBool);
  const at::Tensor recalled_N = torch::zeros({reference.size()}, at::kBool);
  const at::Tensor covered_N = torch::zeros({reference.size()}, at::kBool);
  double balls = 0;
  ForEachBlock(
      generated, reference,
      [&](int64_t begin, int64_t end, const at::Tensor& squared_MN) {
        const at::Tensor rounding_MN = generated.squares_N.slice(0, begin, end)
                                           .unsqueeze(1)
                                           .add(reference.squares_N)
                                           .mul_(kRounding);
        const at::Tensor low_MN = squared_MN - rounding_MN;
        precise_M.slice(0, begin, end)
            .copy_((low_MN <= reference_radii.near_N).any(1));
        recalled_N.logical_or_(
            (low_MN <= generated_radii.near_N.slice(0, begin, end).unsqueeze(1))
                .any(0));
        const at::Tensor inside =
            squared_MN + rounding_MN < reference_radii.density_N;
        covered_N.logical_or_(inside.any(0));
        balls += inside.sum().item<double>();
      });
  return PrecisionRecall{
      .precision = MeanOf(precise_M),
      .recall = MeanOf(recalled_N),
      .density = balls / static_cast<double>(options.density_neighbors *
                                             generated.size()),
      .coverage = MeanOf(covered_N)};
}

}  // namespace gandem
