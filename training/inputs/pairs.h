// SPDX-License-Identifier: Apache-2.0
//
// Pairs of images for image-to-image translation: an input and its target. Both
// roles read them from the same dataset, so no message carries them. A
// generated image has the pair of the real image at its place (data_places.h).
//
// Owner: shared. Thread safety: any thread; readers never change.
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

// Splits joined pairs into target images and, as their condition, inputs. The
// first `channels` of `joined_NCHW` are the target's (OpenPairs of
// pipeline/sources/open_dataset.h).
RealImages SplitPairs(const at::Tensor& joined_NCHW, int64_t channels,
                      const Compute& compute);

class PairReader {
 public:
  // `pairs` is a dataset of OpenPairs.
  PairReader(const DataPlan& plan, std::shared_ptr<const Dataset> pairs,
             const Compute& compute);

  int64_t size() const { return pairs_->size(); }

  // Targets and, as the condition, inputs of generated images `range` of a
  // step.
  absl::StatusOr<RealImages> Read(Purpose noise, int64_t step,
                                  IndexRange range) const;

 private:
  const std::shared_ptr<const Dataset> pairs_;
  const DataPlaces places_;
  const uint64_t seed_;     // for the augmentation of an image
  const int64_t channels_;  // of a target
  const Compute compute_;
};

// Opens the pairs of a run that translates images.
absl::StatusOr<std::shared_ptr<const PairReader>> OpenPairReader(
    const DataPlan& plan, const Compute& compute);

// The source of inputs of generated images; `pairs` is not null.
ConditionSource InputsOf(std::shared_ptr<const PairReader> pairs);

// The conditions of a run's generated images: inputs if `pairs` is not null,
// else OpenLabels.
absl::StatusOr<ConditionSource> OpenConditions(
    const DataPlan& plan, std::shared_ptr<const PairReader> pairs,
    at::Device device);

// The conditions of generated images of a step and, if `pairs` is not null,
// their targets.
absl::StatusOr<RealImages> ReadConditions(const ConditionSource& conditions,
                                          const PairReader* pairs,
                                          Purpose noise, int64_t step,
                                          IndexRange range);

// Inputs, translations and targets side by side, for grids.
at::Tensor BesidePairs(const RealImages& pairs, const at::Tensor& images_NCHW);

}  // namespace gandem
