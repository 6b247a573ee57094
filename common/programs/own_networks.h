// SPDX-License-Identifier: Apache-2.0
//
// Users' Python networks in a config: their files and initial content.
//
// Thread safety: any thread.
#pragma once

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace gandem {

// Makes network.python.module of both roles absolute and sets its sha256.
//   NOT_FOUND etc.    errors of the file; the message names the field
//   INVALID_ARGUMENT  sha256 was given and differs
absl::Status KnowOwnNetworks(RunConfig& config);

// Prepares the older config `saved` for a comparison: takes the paths of moved
// files and, with `accept_changed_code`, the sha256 of changed ones.
void TakeMovedCode(const RunConfig& config, bool accept_changed_code,
                   RunConfig& saved);

// Returns whether the files of both configs differ after TakeMovedCode.
bool CodeHasChanged(const RunConfig& saved, const RunConfig& config);

}  // namespace gandem
