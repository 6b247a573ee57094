// SPDX-License-Identifier: Apache-2.0
//
// Inception score: exp(E KL(p(y|x) || p(y))), Salimans et al., "Improved
// techniques for training GANs", NeurIPS 2016, section 4. The rows are put in
// a keyed order (a folder may be sorted by class) and split; the score is the
// mean over the splits, sd their standard deviation (divided by their number,
// as is usual).
//
// Thread safety: pure functions. Errors: Status; Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "absl/status/statusor.h"

namespace gandem {

struct MeanAndSd {
  double mean = 0;
  double sd = 0;
};

struct InceptionScoreOptions {
  int64_t num_splits = 10;
  uint64_t seed = 0;  // for the order
};

// `logits_NK` is float32 or float64; a constant added to a row changes nothing.
//   INVALID_ARGUMENT  not such a tensor, or fewer rows than splits.
//   DATA_LOSS         NaN or infinity; names the row.
absl::StatusOr<MeanAndSd> InceptionScore(
    const at::Tensor& logits_NK, const InceptionScoreOptions& options = {});

// The score of logits that are in their final order.
absl::StatusOr<MeanAndSd> InceptionScoreInOrder(const at::Tensor& logits_NK,
                                                int64_t num_splits);

}  // namespace gandem
