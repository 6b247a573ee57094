// SPDX-License-Identifier: Apache-2.0
//
// The reference side of an evaluation: features of images, which stay in the
// cache for the next evaluation, or the statistics of a file.
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
#include "evaluation/commands/compute_metrics.h"
#include "evaluation/commands/evaluation_inputs.h"
#include "evaluation/features/extract_features.h"
#include "proto/evaluation.pb.h"

namespace gandem {

class EvaluationReference {
 public:
  // `job` has the network of `net`, for images of its own; `images` are what
  // will be compared.
  //   INVALID_ARGUMENT  sizes or channels differ though `any_size` is not set,
  //                     the statistics are of another network, or the metrics
  //                     need more than statistics, or labels where there are
  //                     none.
  static absl::StatusOr<EvaluationReference> Open(
      const Reference& reference, const FeatureNet& net, const FeatureJob& job,
      const ImagesCard& images, const MetricSet& metrics, bool any_size);

  const ImagesCard& card() const { return card_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  // Undefined where no metric needs them.
  const at::Tensor& labels_N() const { return labels_N_; }

  // Computes what the cache lacks. Errors of ExtractFeatures.
  absl::Status Extract(int workers,
                       const std::function<void(int64_t num_images)>& progress);

  // After Extract(); none where there are only statistics.
  std::optional<FeatureSide> features() const;
  // After Extract(): from the file, the cache or the features.
  absl::StatusOr<Moments> ReadMomentsOnce() const;

 private:
  EvaluationReference(const FeatureNet& net, FeatureJob job)
      : net_(net), job_(std::move(job)) {}
  absl::Status UseStatistics(const Reference& reference,
                             const MetricSet& metrics);
  absl::Status UseImages(const Reference& reference, const ImagesCard& images,
                         const MetricSet& metrics, bool any_size);
  void WarnOfAssumptions(const std::string& name,
                         const FeatureStatistics& statistics);

  FeatureNet net_;
  FeatureJob job_;
  ImagesCard card_;
  std::vector<std::string> warnings_;
  std::optional<Moments> statistics_;
  std::optional<FeatureStore> store_;
  at::Tensor labels_N_;
};

// The folder's name for features of one network: its file, resize and how
// images are read.
std::string NetworkKey(const FeatureNet& net);

// The first digits of the SHA-256, enough for names.
std::string ShortKey(absl::string_view text);

}  // namespace gandem
