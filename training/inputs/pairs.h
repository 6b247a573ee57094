// SPDX-License-Identifier: Apache-2.0
//
// Pairs of images for image-to-image translation: an input and its target. Both
// roles read them from the same dataset, so messages do not carry them. A
// generated image uses the pair of the real image at its place (data_places.h).
//
// Owner: shared. Thread safety: immutable; any thread.
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

// Splits joined pairs (OpenPairs of pipeline/sources/open_dataset.h) into
// target images, the first `channels`, and inputs as their condition.
RealImages SplitPairs(const at::Tensor& joined_NCHW, int64_t channels,
                      const Compute& compute);

class PairReader {
 public:
  // `pairs` is a dataset of OpenPairs.
  PairReader(const DataPlan& plan, std::shared_ptr<const Dataset> pairs,
             const Compute& compute);

  int64_t size() const { return pairs_->size(); }

  // Reads targets of generated images of a step, with inputs as condition.
  absl::StatusOr<RealImages> Read(Purpose noise, int64_t step,
                                  IndexRange range) const;

 private:
  const std::shared_ptr<const Dataset> pairs_;
  const DataPlaces places_;
  const uint64_t seed_;     // for augmentation
  const int64_t channels_;  // of a target
  const Compute compute_;
};

absl::StatusOr<std::shared_ptr<const PairReader>> OpenPairReader(
    const DataPlan& plan, const Compute& compute);

// Makes inputs the conditions of generated images; `pairs` is not null.
ConditionSource InputsOf(std::shared_ptr<const PairReader> pairs);

// Returns the conditions of a run's generated images: inputs if `pairs` is not
// null, otherwise OpenLabels.
absl::StatusOr<ConditionSource> OpenConditions(
    const DataPlan& plan, std::shared_ptr<const PairReader> pairs,
    at::Device device);

// Reads the conditions of generated images and, with `pairs`, their targets.
absl::StatusOr<RealImages> ReadConditions(const ConditionSource& conditions,
                                          const PairReader* pairs,
                                          Purpose noise, int64_t step,
                                          IndexRange range);

// Places inputs, translations and targets side by side, for grids.
at::Tensor BesidePairs(const RealImages& pairs, const at::Tensor& images_NCHW);

}  // namespace gandem
