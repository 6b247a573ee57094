// SPDX-License-Identifier: Apache-2.0
//
// The labels that samples of a run with classes are made for.
//
// Thread safety: pure functions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "exchange/schedule.h"
#include "models/network.h"
#include "proto/config.pb.h"

namespace gandem {

// INVALID_ARGUMENT  the run has no such class; says which it has.
absl::Status CheckClass(const RunConfig& config,
                        std::optional<int64_t> only_class);

// Of samples `range`, on `device`: `only_class`, or uniform draws, image i from
// the stream (seed, kSampleLabels, 0, i), as in the grids that a run writes.
// Without labels for a run without classes.
Condition SampleCondition(const RunConfig& config, uint64_t seed,
                          std::optional<int64_t> only_class, IndexRange range,
                          at::Device device);

}  // namespace gandem
