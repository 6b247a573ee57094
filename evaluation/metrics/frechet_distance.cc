// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/frechet_distance.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "models/torch.h"

namespace gandem {
namespace {

// Rounding may push an eigenvalue below 0 by this fraction of the largest.
constexpr double kNegativeTolerance = 1e-6;

// Upper bound of the rank from the number of rows and of dimensions that vary
// at all (a unit may always be off).
int64_t RankBound(const Moments& moments) {
  const int64_t active =
      (moments.covariance_DD.diagonal() > 0).sum().item<int64_t>();
  return moments.count == 0 ? active : std::min(active, moments.count - 1);
}

// Whether the covariance may have full rank: more rows than dimensions, or an
// unknown number.
bool HasAllRows(const Moments& moments) {
  return moments.count == 0 || moments.count > moments.dim();
}

absl::Status CheckMoments(const Moments& moments) {
  const int64_t dim = moments.mean_D.defined() ? moments.dim() : 0;
  if (dim < 1 || moments.mean_D.dim() != 1 ||
      moments.covariance_DD.sizes() != at::IntArrayRef({dim, dim}) ||
      moments.count < 0 || moments.count == 1) {
    return absl::InvalidArgumentError(
        "these are no moments: expected a mean [D], a covariance [D, D] and "
        "a count of 2 or more");
  }
  if (!std::isfinite(moments.mean_D.abs().sum().item<double>()) ||
      !std::isfinite(moments.covariance_DD.abs().sum().item<double>())) {
    return absl::DataLossError(
        "the mean or the covariance has NaN or infinity, or is too large");
  }
  return absl::OkStatus();
}

// Returns the `rank` largest of ascending eigenvalues, at least 0.
//   DATA_LOSS  an eigenvalue is too negative for rounding.
absl::StatusOr<at::Tensor> Largest(const at::Tensor& values, int64_t rank) {
  const double smallest = values[0].item<double>();
  const double largest = values[-1].item<double>();
  if (smallest < -kNegativeTolerance * std::abs(largest)) {
    return absl::DataLossError(
        absl::StrCat("not a covariance: it has the eigenvalue ", smallest,
                     " beside ", largest));
  }
  return values.slice(0, values.numel() - rank).clamp_min(0);
}

// Returns orthogonal rows whose transpose times themselves is the covariance;
// their squared lengths are its eigenvalues.
absl::StatusOr<at::Tensor> EigenRoot(const Moments& moments) {
  const auto [values, vectors] = at::linalg_eigh(moments.covariance_DD);
  const int64_t rank = RankBound(moments);
  GANDEM_ASSIGN_OR_RETURN(const at::Tensor eigenvalues, Largest(values, rank));
  const at::Tensor kept_DR = vectors.slice(1, values.numel() - rank);
  return (kept_DR * eigenvalues.sqrt()).t().contiguous();
}

}  // namespace

absl::StatusOr<FrechetReference> FrechetReference::Create(Moments reference) {
  GANDEM_RETURN_IF_ERROR(CheckMoments(reference));
  FrechetReference result;
  at::Tensor eigenvalues_R;
  if (reference.root_ND.defined()) {
    result.root_RD_ = reference.root_ND;
    eigenvalues_R = at::linalg_svdvals(reference.root_ND).square();
  } else {
    GANDEM_ASSIGN_OR_RETURN(result.root_RD_, EigenRoot(reference));
    eigenvalues_R = result.root_RD_.square().sum(1);
  }
  result.moments_ = std::move(reference);
  const auto* const values = eigenvalues_R.const_data_ptr<double>();
  result.eigenvalues_.assign(values, values + eigenvalues_R.numel());
  return result;
}

absl::StatusOr<double> FrechetReference::DistanceTo(
    const Moments& other) const {
  GANDEM_RETURN_IF_ERROR(CheckMoments(other));
  if (other.dim() != moments_.dim()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "moments of ", other.dim(), " and of ", moments_.dim(),
        " dimensions: they come from different networks; compute both with "
        "one"));
  }
  double root_trace = 0;
  if (HasAllRows(moments_) && HasAllRows(other)) {
    const at::Tensor product_RR =
        root_RD_.mm(other.covariance_DD).mm(root_RD_.t());
    // Other values are exactly 0; their rounding would give roots of 1e-8.
    const int64_t rank = std::min(root_RD_.size(0), RankBound(other));
    if (rank > 0) {
      GANDEM_ASSIGN_OR_RETURN(const at::Tensor values,
                              Largest(at::linalg_eigvalsh(product_RR), rank));
      root_trace = values.sqrt().sum().item<double>();
    }
  } else {
    at::Tensor root_SD = other.root_ND;
    if (!root_SD.defined()) {
      GANDEM_ASSIGN_OR_RETURN(root_SD, EigenRoot(other));
    }
    root_trace =
        at::linalg_svdvals(root_RD_.mm(root_SD.t())).sum().item<double>();
  }
  const double distance =
      (moments_.mean_D - other.mean_D).square().sum().item<double>() +
      moments_.covariance_DD.trace().item<double>() +
      other.covariance_DD.trace().item<double>() - 2 * root_trace;
  return std::max(distance, 0.0);
}

absl::StatusOr<double> FrechetDistance(const Moments& a, const Moments& b) {
  // The side with fewer rows is the cheaper one to decompose.
  const bool b_first = b.root_ND.defined() && !a.root_ND.defined();
  GANDEM_ASSIGN_OR_RETURN(const FrechetReference reference,
                          FrechetReference::Create(b_first ? b : a));
  return reference.DistanceTo(b_first ? a : b);
}

}  // namespace gandem
