// SPDX-License-Identifier: Apache-2.0
//
// Checks that the fields of an OptimizerConfig go together.
// ValidateRunConfig asks it for both roles, MakeOptimizer (training/optimizers)
// for the one that it makes. Ranges are in field_ranges.h.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "common/faults.h"
#include "proto/config.pb.h"

namespace gandem {

// The family that is set; null: none, which counts as Adam.
const google::protobuf::FieldDescriptor* FamilyFieldOf(
    const OptimizerConfig& config);

// Adds every fault, its field named prefix + "family.field". A config without
// a family counts as Adam with its defaults. `rounds` are those of the run.
void CheckOptimizer(const std::string& prefix, const OptimizerConfig& config,
                    int64_t rounds, Faults& faults);

}  // namespace gandem
