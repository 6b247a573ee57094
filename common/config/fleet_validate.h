// SPDX-License-Identifier: Apache-2.0
//
// The part of ValidateRunConfig about several workers per role: what each can
// do by itself, and what needs all images of a batch in one place.
//
// Thread safety: pure functions.
#pragma once

#include "common/faults.h"
#include "proto/config.pb.h"

namespace gandem {

void CheckFleets(const RunConfig& config, Faults& faults);

}  // namespace gandem
