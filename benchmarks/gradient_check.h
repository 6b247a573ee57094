// SPDX-License-Identifier: Apache-2.0
//
// Cost of checking at every update that all gradients are finite: one norm over
// all of them, which clipping and the metrics need anyway. The cost is a share
// of an update that includes it, and of a step of the role (forward, backward
// and update).
//
// Thread safety: one compute thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace gandem {

// Prints a line for each role of the recipe; the values of the lines. Of each
// time the median of `repetitions`, in turns.
nlohmann::json MeasureGradientCheck(const std::string& recipe, int repetitions);

}  // namespace gandem
