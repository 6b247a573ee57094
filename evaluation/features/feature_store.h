// SPDX-License-Identifier: Apache-2.0
//
// The features of a set of images on disk, in slices of kSliceImages by index.
// A slice is complete or missing, so a job continues where a killed one
// stopped:
//
//   FOLDER/features-000000256-256.safetensors  first index and count
//
// Owner: values; the folder is its caller's. Thread safety: any thread; several
// processes may write equal slices at once.
// Errors: those of common/files/file.h and common/checkpoint/safetensors.h.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "evaluation/features/feature_extractor.h"
#include "evaluation/metrics/feature_moments.h"
#include "exchange/schedule.h"

namespace gandem {

// Two batches take seconds with an Inception on one core; slices this small
// divide a few hundred images evenly among workers.
inline constexpr int64_t kSliceImages = 2 * kChunkRows;

// Divides [0, num_images) into slices of kSliceImages; the last may be smaller.
std::vector<IndexRange> SlicesOf(int64_t num_images);

class FeatureStore {
 public:
  // The folder must exist.
  explicit FeatureStore(std::string folder) : folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }

  bool Has(IndexRange slice) const;
  // Returns the slices of SlicesOf(num_images) that are missing.
  std::vector<IndexRange> Missing(int64_t num_images) const;

  // The slice is durable on return. A failed write leaves nothing.
  absl::Status Write(IndexRange slice, const Features& features) const;

  // Returns float64 values as written. Removes a slice that cannot be read.
  //   NOT_FOUND  the slice was never written.
  //   DATA_LOSS  damaged, or of another network: run the same command again.
  absl::StatusOr<Features> Read(IndexRange slice, const FeatureNet& net) const;

 private:
  std::string PathOf(IndexRange slice) const;

  std::string folder_;
};

// Returns the features (and logits, if there are any) of the first `num_images`
// as one tensor each: float32 if it holds every value, else float64.
absl::StatusOr<Features> ReadAllFeatures(const FeatureStore& store,
                                         const FeatureNet& net,
                                         int64_t num_images, bool with_logits);

// Mean and covariance of the first `num_images`, with one slice in memory.
absl::StatusOr<Moments> ReadMoments(const FeatureStore& store,
                                    const FeatureNet& net, int64_t num_images);

}  // namespace gandem
