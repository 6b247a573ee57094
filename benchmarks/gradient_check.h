// SPDX-License-Identifier: Apache-2.0
//
// What it costs to know at every update that all gradients are finite: one norm
// over all of them, which clipping and the metrics take anyway. Its share of an
// update with it, and of a step of the role (forward, backward and update).
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
