// SPDX-License-Identifier: Apache-2.0
//
// The features of a set of images on disk, in slices of kSliceImages by index.
// A slice is there whole or not at all, so what a killed job has computed is
// what the next one does not compute again:
//
//   FOLDER/features-000000256-256.safetensors  first index and count
//   FOLDER/job-PID.textproto                   FeatureJob: what the workers of
//                                              process PID compute
//
// Several processes may fill one folder at once, those of a reference: hence a
// job's file of its own for each, so that none computes by the paths of
// another.
//
// Owner: values; the folder is its caller's. Thread safety: any thread; several
// processes may write equal slices at once.
// Errors: those of common/files/file.h and common/checkpoint/safetensors.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "evaluation/features/feature_extractor.h"
#include "evaluation/metrics/feature_moments.h"
#include "exchange/schedule.h"
#include "proto/evaluation.pb.h"

namespace gandem {

// Two batches: seconds of work with an Inception on one core, and few enough
// that workers share some hundred images evenly.
inline constexpr int64_t kSliceImages = 2 * kChunkRows;

// [0, num_images) in pieces of kSliceImages; the last may be smaller.
std::vector<IndexRange> SlicesOf(int64_t num_images);

class FeatureStore {
 public:
  // Creates the folder, or finds it. The job's paths become absolute.
  static absl::StatusOr<FeatureStore> Create(const std::string& folder,
                                             const FeatureJob& job);
  // The folder that a file of WriteJob lies in. NOT_FOUND: it is not there.
  static absl::StatusOr<FeatureStore> Open(const std::string& job_path);

  const std::string& folder() const { return folder_; }
  const FeatureJob& job() const { return job_; }
  // Where WriteJob writes it.
  std::string job_path() const;
  // For processes that Open the store; remove it when they have ended.
  absl::Status WriteJob() const;

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
  FeatureStore(std::string folder, FeatureJob job)
      : folder_(std::move(folder)), job_(std::move(job)) {}
  std::string PathOf(IndexRange slice) const;

  std::string folder_;
  FeatureJob job_;
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
