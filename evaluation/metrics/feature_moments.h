// SPDX-License-Identifier: Apache-2.0
//
// Mean and covariance of features, added up in float64 one chunk at a time.
//
// Each chunk's sums are about its own mean, and two sets of n_a and n_b rows
// merge by Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm
// for computing sample variances", 1979, equation 2.1: with
// delta = mean_b - mean_a,
//   mean    = mean_a + delta * n_b / n
//   scatter = scatter_a + scatter_b + delta delta' * n_a n_b / n
// Nothing cancels, however far the mean is from zero. The bits depend on the
// chunks and their order.
//
// Owner: values, which move. Thread safety: one thread at a time.
// Errors: Status, and then nothing has changed; Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace gandem {

// Rows of a chunk, by index, wherever bits matter: 0 to 63, 64 to 127, and so
// on.
inline constexpr int64_t kChunkRows = 64;

struct Moments {
  int64_t count = 0;  // rows; 0: unknown (a file without it)
  at::Tensor mean_D;
  at::Tensor covariance_DD;  // divided by count - 1; exactly symmetric
  // (row - mean) / sqrt(count - 1): its transpose times itself is the
  // covariance. Defined if count <= D, where the covariance alone would lose
  // half of the digits.
  at::Tensor root_ND;

  int64_t dim() const { return mean_D.numel(); }
};

class FeatureMoments {
 public:
  explicit FeatureMoments(int64_t dim);  // >= 1
  FeatureMoments(FeatureMoments&&) = default;
  FeatureMoments& operator=(FeatureMoments&&) = default;

  // Adds a chunk: float32 or float64, on the CPU, 1 row or more.
  //   INVALID_ARGUMENT  another shape or type.
  //   DATA_LOSS         NaN or infinity; names the row.
  absl::Status Add(const at::Tensor& features_ND);

  //   FAILED_PRECONDITION  fewer than 2 rows.
  absl::StatusOr<Moments> Finish() const;

 private:
  int64_t dim_;
  int64_t count_ = 0;
  at::Tensor mean_D_;
  at::Tensor scatter_DD_;
  // All rows, while there are at most dim_.
  std::vector<at::Tensor> rows_;
  at::Tensor chunk_scatter_DD_;  // scratch memory of Add()
};

// Moments of all rows, in chunks of kChunkRows.
absl::StatusOr<Moments> MomentsOf(const at::Tensor& features_ND);
// Moments of the rows with these int64 numbers: the bits of MomentsOf for a
// copy of the rows, without the copy.
absl::StatusOr<Moments> MomentsOfRows(const at::Tensor& features_ND,
                                      const at::Tensor& rows_N);

}  // namespace gandem
