// SPDX-License-Identifier: Apache-2.0
//
// The features of a set of images on disk, in slices of kSliceImages by index.
// A slice is there whole or not at all, so what a killed job has computed is
// what the next one does not compute again:
//
//   FOLDER/features-000000256-256.safetensors  first index and count
//
// Several processes may fill one folder at once, that of a reference.
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

// Two batches: seconds of work with an Inception on one core, and few enough
// that workers share some hundred images evenly.
inline constexpr int64_t kSliceImages = 2 * kChunkRows;

// [0, num_images) in pieces of kSliceImages; the last may be smaller.
std::vector<IndexRange> SlicesOf(int64_t num_images);

class FeatureStore {
 public:
  // The folder is there.
  explicit FeatureStore(std::string folder) : folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }

  bool Has(IndexRange slice) const;
  // The slices of SlicesOf(num_images) that are not there.
  std::vector<IndexRange> Missing(int64_t num_images) const;

  // Survives a crash when it returns; when it fails, nothing is left.
  absl::Status Write(IndexRange slice, const Features& features) const;

  // float64, as they were written. A slice that cannot be read is removed.
  //   NOT_FOUND  it was never written.
  //   DATA_LOSS  damaged, or of another network: run the same command again.
  absl::StatusOr<Features> Read(IndexRange slice, const FeatureNet& net) const;

 private:
  std::string PathOf(IndexRange slice) const;

  std::string folder_;
};

// All features (and logits, if there are any) of the first `num_images` as one
// tensor each: float32 where that holds every value, else float64.
absl::StatusOr<Features> ReadAllFeatures(const FeatureStore& store,
                                         const FeatureNet& net,
                                         int64_t num_images, bool with_logits);

// Mean and covariance of the first `num_images`, with one slice in memory.
absl::StatusOr<Moments> ReadMoments(const FeatureStore& store,
                                    const FeatureNet& net, int64_t num_images);

}  // namespace gandem
