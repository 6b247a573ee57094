// SPDX-License-Identifier: Apache-2.0
//
// The reference side of an evaluation: features of images, or the statistics of
// a file.
//
// Owner: an evaluation. Thread safety: one compute thread.
// Errors: Status only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "evaluation/features/extract_features.h"
#include "evaluation/judging/compute_metrics.h"
#include "evaluation/judging/evaluation_inputs.h"
#include "evaluation/kept/feature_cache.h"
#include "proto/evaluation.pb.h"

namespace gandem {

class EvaluationReference {
 public:
  // `job` has the network of `net`, for images of its own; `images` are what
  // will be compared. Features go to a folder of their own in `folder`.
  //   INVALID_ARGUMENT  sizes or channels differ though `any_size` is not set,
  //                     the statistics are of another network, or the metrics
  //                     need more than statistics, or labels where there are
  //                     none.
  static absl::StatusOr<EvaluationReference> Open(
      const Reference& reference, const FeatureNet& net, const FeatureJob& job,
      const ImagesCard& images, const MetricSet& metrics, bool any_size,
      const std::string& folder);

  const ImagesCard& card() const { return card_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  // Undefined where no metric needs them.
  const at::Tensor& labels_N() const { return labels_N_; }

  // Of which there are to be features before any figure; none where there are
  // only statistics.
  std::optional<FeatureSide> features() const;
  // From the file, the cache or the features.
  absl::StatusOr<Moments> ReadMomentsOnce() const;

 private:
  EvaluationReference(const FeatureNet& net, FeatureJob job, std::string folder)
      : net_(net), job_(std::move(job)), folder_(std::move(folder)) {}
  absl::Status UseStatistics(const Reference& reference,
                             const MetricSet& metrics);
  absl::Status UseImages(const Reference& reference, const ImagesCard& images,
                         const MetricSet& metrics, bool any_size);

  FeatureNet net_;
  FeatureJob job_;
  std::string folder_;
  std::optional<CachedFolder> held_folder_;
  ImagesCard card_;
  std::vector<std::string> warnings_;
  std::optional<Moments> statistics_;
  std::optional<FeatureStore> store_;
  at::Tensor labels_N_;
};

// The folder's name for features: of what the images are made of, and of the
// network, its part and resize, where it runs and how images are read.
std::string FeaturesKey(const std::string& images_sha256,
                        const FeatureNet& net);

// The first digits of the SHA-256, enough for names.
std::string ShortKey(absl::string_view text);

}  // namespace gandem
