// SPDX-License-Identifier: Apache-2.0
//
// Conditions of images. A generated image's condition is a function of its
// place in the run, like its noise, which both roles compute.
//
// Owner: copied by a role. Thread safety: the role's compute thread.
// Errors: for paired images, errors of the dataset (pairs.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "common/philox.h"
#include "exchange/exchange.h"
#include "exchange/schedule.h"
#include "models/network.h"
#include "training/inputs/data_plan.h"

namespace gandem {

// Returns the condition of generated images `range` of a step. Images are
// addressed like their noise: kGeneratorNoise, kDiscriminatorNoise or kSample.
using ConditionSource = std::function<absl::StatusOr<Condition>(
    Purpose noise, int64_t step, IndexRange range)>;

absl::StatusOr<Condition> NoCondition(Purpose noise, int64_t step,
                                      IndexRange range);

// Draws labels uniformly from the classes, with a keyed stream per image.
// Returns NoCondition without classes.
ConditionSource KeyedLabels(uint64_t seed, int64_t num_classes,
                            at::Device device);

// Makes the labels configured by data.generated_labels. Errors, if labels
// depend on the dataset: ReadDatasetLabels (pipeline/sources/open_dataset.h).
absl::StatusOr<ConditionSource> OpenLabels(const DataPlan& plan,
                                           at::Device device);

// Returns the condition of images received from the exchange.
absl::StatusOr<Condition> ConditionOf(const ConditionSource& source,
                                      const Schedule& schedule,
                                      const ImageBatch& images);
// Concatenates the conditions of all pieces, in order.
absl::StatusOr<Condition> ConditionOf(const ConditionSource& source,
                                      const Schedule& schedule,
                                      const std::vector<ImageBatch>& pieces);

// Returns the condition of images [first, first + count) of a batch.
Condition Narrow(const Condition& condition, int64_t first, int64_t count);

}  // namespace gandem
