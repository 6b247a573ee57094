// SPDX-License-Identifier: Apache-2.0
//
// Pairs of images that a run translates: an input, and the image that it should
// become. Both roles read them from the same dataset, so no message carries
// them: a generated image has the pair of the real one in its place
// (data_places.h).
//
// Owner: shared by who asks. Thread safety: any thread; it never changes.
// Errors: those of the dataset; Torch exceptions.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "pipeline/dataset.h"
#include "training/compute/tensor_bytes.h"
#include "training/inputs/conditions.h"
#include "training/inputs/data_places.h"
#include "training/inputs/sources.h"

namespace gandem {

// Images and, as their condition, what they are made of; `joined_NCHW` has the
// `channels` of the images first (OpenPairs of
// pipeline/sources/open_dataset.h).
RealImages SplitPairs(const at::Tensor& joined_NCHW, int64_t channels,
                      const Compute& compute);

class PairReader {
 public:
  // `pairs` are those of OpenPairs.
  PairReader(const DataPlan& plan, std::shared_ptr<const Dataset> pairs,
             const Compute& compute);

  int64_t size() const { return pairs_->size(); }

  // Of generated images `range` of a step: what they should become, and as
  // condition what they are made of.
  absl::StatusOr<RealImages> Read(Purpose noise, int64_t step,
                                  IndexRange range) const;

 private:
  const std::shared_ptr<const Dataset> pairs_;
  const DataPlaces places_;
  const uint64_t seed_;     // of what is drawn for an image
  const int64_t channels_;  // of an image
  const Compute compute_;
};

// Of a run that translates images.
absl::StatusOr<std::shared_ptr<const PairReader>> OpenPairReader(
    const DataPlan& plan, const Compute& compute);

// What generated images are made of; `pairs` is not null.
ConditionSource InputsOf(std::shared_ptr<const PairReader> pairs);

// What a run's generated images are conditioned on: inputs where it has
// `pairs`, else OpenLabels.
absl::StatusOr<ConditionSource> OpenConditions(
    const DataPlan& plan, std::shared_ptr<const PairReader> pairs,
    at::Device device);

// What generated images of a step are made of and, where there are `pairs`
// (else null), what they should become.
absl::StatusOr<RealImages> ReadConditions(const ConditionSource& conditions,
                                          const PairReader* pairs,
                                          Purpose noise, int64_t step,
                                          IndexRange range);

// Input, translation and what it should become side by side, for grids.
at::Tensor BesidePairs(const RealImages& pairs, const at::Tensor& images_NCHW);

}  // namespace gandem
