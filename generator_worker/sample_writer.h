// SPDX-License-Identifier: Apache-2.0
//
// Grids of the averaged generator's images while a run trains. Noise and labels
// are fixed (Purpose::kSample, step 0), so the grids of a run show the same
// images growing better. Where images are translated, a cell is the input, its
// translation and what it should become, side by side.
//
// Thread safety: the compute thread. Errors: a grid that cannot be written is
// logged and left out; training goes on.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "models/network.h"
#include "training/compute/tensor_bytes.h"
#include "training/inputs/pairs.h"
#include "training/plan/run_plan.h"

namespace gandem {

// Writes run_dir/samples/round-N.png when one is due after N completed rounds
// and returns its path below run_dir, else "". `conditions` are those of
// OpenConditions, `pairs` is null where the run has none.
std::function<std::string(int64_t completed_rounds, Generator& average)>
SampleWriter(const SamplePlan& plan, ConditionSource conditions,
             std::shared_ptr<const PairReader> pairs,
             const std::string& run_dir, const Compute& compute);

}  // namespace gandem
