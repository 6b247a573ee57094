// SPDX-License-Identifier: Apache-2.0
//
// The part of ValidateRunConfig that is about precisions: of both roles, of the
// exchange between them, and the loss scales.
//
// Thread safety: pure functions.
#pragma once

#include "common/faults.h"
#include "proto/config.pb.h"

namespace gandem {

void CheckPrecision(const RunConfig& config, Faults& faults);

}  // namespace gandem
