// SPDX-License-Identifier: Apache-2.0
//
// The network that an evaluation sees its images with: which file, where it
// runs and in which precision.
//
// Owner: an evaluation. Thread safety: one compute thread.
// Errors: Status only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/image_shape.h"
#include "evaluation/features/feature_extractor.h"
#include "evaluation/images/image_set.h"
#include "evaluation/judging/evaluate_request.h"
#include "evaluation/judging/evaluation_inputs.h"
#include "proto/evaluation.pb.h"

namespace gandem {

// What is judged, if it is images: what --precision fastest tries out.
struct JudgedImages {
  ImageSet* images = nullptr;
  int64_t num_images = 0;
  std::string sha256 = {};
};

class EvaluationNetwork {
 public:
  // Opens the file, and chooses the precision where the request leaves that
  // open: `judged.images` is set then. `shape` is of the images to see.
  //   errors of FindNetwork, OpenFeatureExtractor, CheckNetwork and
  //   FastestPrecision.
  static absl::StatusOr<EvaluationNetwork> Open(const EvaluateRequest& request,
                                                const Subject& subject,
                                                const Reference& reference,
                                                const ImageShape& shape,
                                                const JudgedImages& judged);
  // Of two statistics files, which need none.
  explicit EvaluationNetwork(FeatureNet net) : net_(std::move(net)) {}

  const FeatureNet& net() const { return net_; }
  FeaturesCard Card() const;
  // For the workers; without images.
  FeatureJob Job() const;

 private:
  // Sets precision and, where it was tried out, trial_.
  absl::Status Choose(const EvaluateRequest& request,
                      const Reference& reference, const JudgedImages& judged,
                      ExtractorOptions& options);

  FeatureNet net_;
  FeatureJob job_;
  std::optional<PrecisionTrial> trial_;
};

}  // namespace gandem
