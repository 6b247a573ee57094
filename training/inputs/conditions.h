// SPDX-License-Identifier: Apache-2.0
//
// Conditions of images. The condition of a generated image is a function of its
// place in the run, like its noise. Both roles compute it, so no message
// carries it.
//
// Owner: a role holds a copy. Thread safety: the role's compute thread.
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

// Returns the condition of generated images `range` of a step. Images have the
// address of their noise: kGeneratorNoise, kDiscriminatorNoise or kSample.
using ConditionSource = std::function<absl::StatusOr<Condition>(
    Purpose noise, int64_t step, IndexRange range)>;

// The source of empty conditions.
absl::StatusOr<Condition> NoCondition(Purpose noise, int64_t step,
                                      IndexRange range);

// Labels drawn uniformly from the classes, with a keyed stream per image.
// Without classes, returns NoCondition.
ConditionSource KeyedLabels(uint64_t seed, int64_t num_classes,
                            at::Device device);

// Labels as configured by data.generated_labels. Errors: if labels depend on
// the dataset, those of ReadDatasetLabels (pipeline/sources/open_dataset.h).
absl::StatusOr<ConditionSource> OpenLabels(const DataPlan& plan,
                                           at::Device device);

// The condition of images received over the exchange.
absl::StatusOr<Condition> ConditionOf(const ConditionSource& source,
                                      const Schedule& schedule,
                                      const ImageBatch& images);
// The conditions of all pieces, concatenated in order.
absl::StatusOr<Condition> ConditionOf(const ConditionSource& source,
                                      const Schedule& schedule,
                                      const std::vector<ImageBatch>& pieces);

// The condition of images [first, first + count) of a batch.
Condition Narrow(const Condition& condition, int64_t first, int64_t count);

}  // namespace gandem
