// SPDX-License-Identifier: Apache-2.0
//
// How much the features of a set of images tell apart. A network that gives all
// images the same features makes every distance 0, the best there is; so does
// one that is nearly blind, nearly.
//
// Thread safety: pure functions. Errors: Status; Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "evaluation/metrics/feature_moments.h"

namespace gandem {

// Summary of the eigenvalues of the covariance.
struct FeatureInformation {
  int64_t rank = 0;  // those above 1e-10 of the largest
  // exp of the entropy of the eigenvalues divided by their sum: their number
  // where all are equal, 1 where one is all (Roy and Vetterli, "The effective
  // rank: a measure of effective dimensionality", EUSIPCO 2007, definition 1).
  double effective_rank = 0;
};

// `moments` have a variance (CheckVariance).
absl::StatusOr<FeatureInformation> InformationOf(const Moments& moments);

// Whether features vary by more than float32 rounds. `side` and `network` are
// their names in messages.
//   DATA_LOSS  they do not, or have NaN or infinity.
absl::Status CheckVariance(absl::string_view side, absl::string_view network,
                           const at::Tensor& features_ND);
absl::Status CheckVariance(absl::string_view side, absl::string_view network,
                           const Moments& moments);

}  // namespace gandem
