// SPDX-License-Identifier: Apache-2.0
//
// What images are conditioned on. For generated images it is a function of
// their place in the run, as their noise is, so no message carries it: the
// generator computes it when it makes them, the discriminator when it gets
// them.
//
// Owner: a role holds a copy. Thread safety: the role's compute thread.
// Errors: of paired images, those of their dataset (pairs.h); labels have none.
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

// The condition of generated images `range` of a step, addressed as their
// noise: by kGeneratorNoise, kDiscriminatorNoise or kSample.
using ConditionSource = std::function<absl::StatusOr<Condition>(
    Purpose noise, int64_t step, IndexRange range)>;

// The condition of networks that take none.
absl::StatusOr<Condition> NoCondition(Purpose noise, int64_t step,
                                      IndexRange range);

// Labels drawn uniformly from the classes, from a keyed stream of each image;
// no classes: NoCondition.
ConditionSource KeyedLabels(uint64_t seed, int64_t num_classes,
                            at::Device device);

// The labels that data.generated_labels asks for. Errors of ReadDatasetLabels
// (pipeline/sources/open_dataset.h), where they depend on the dataset.
absl::StatusOr<ConditionSource> OpenLabels(const DataPlan& plan,
                                           at::Device device);

// The condition of images that came over the exchange.
absl::StatusOr<Condition> ConditionOf(const ConditionSource& source,
                                      const Schedule& schedule,
                                      const ImageBatch& images);
// The condition of all pieces in order.
absl::StatusOr<Condition> ConditionOf(const ConditionSource& source,
                                      const Schedule& schedule,
                                      const std::vector<ImageBatch>& pieces);

// The condition of images [first, first + count) of a batch.
Condition Narrow(const Condition& condition, int64_t first, int64_t count);

}  // namespace gandem
