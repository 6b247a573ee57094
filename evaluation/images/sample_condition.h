// SPDX-License-Identifier: Apache-2.0
//
// What samples are made for or of: the labels of a run with classes, the inputs
// of one that translates images.
//
// Thread safety: pure functions. Errors: those of OpenConditions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "evaluation/images/load_generator.h"
#include "exchange/schedule.h"
#include "models/network.h"

namespace gandem {

// Of a run with `num_classes`; 0: its generator is not told any.
//   INVALID_ARGUMENT  it has no such class; says which it has.
absl::Status CheckClass(int64_t num_classes, std::optional<int64_t> only_class);

// Sets what samples are conditioned on: `only_class`, or draws as in the grids
// that a run writes, image i from the stream (seed, kSampleLabels, 0, i); input
// i of the dataset; nothing for a run with neither.
//   INVALID_ARGUMENT  the run has no such class.
absl::Status UseConditions(uint64_t seed, std::optional<int64_t> only_class,
                           LoadedGenerator& generator);

}  // namespace gandem
