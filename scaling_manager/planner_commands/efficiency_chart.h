// SPDX-License-Identifier: Apache-2.0
//
// The efficiency of more and more devices as a picture: devices to the right,
// each doubling as far as the next, percent upwards from 0 to 110, or to a
// tenth above the largest.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <span>

#include "common/files/png.h"
#include "scaling_manager/planner/scaling/scaling_study.h"

namespace gandem {

// Weak scaling in blue, strong scaling in orange; either may be empty.
PixelImage EfficiencyChart(std::span<const ScalingRow> weak,
                           std::span<const ScalingRow> strong);

}  // namespace gandem
