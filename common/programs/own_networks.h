// SPDX-License-Identifier: Apache-2.0
//
// The files of users' networks in a config: where they are, and which content
// the run was begun with.
//
// Thread safety: any thread.
#pragma once

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace gandem {

// Makes network.python.module of both roles absolute and sets its sha256.
//   NOT_FOUND ...       those of the file; the message names the field.
//   INVALID_ARGUMENT    sha256 was given, and is of another content.
absl::Status KnowOwnNetworks(RunConfig& config);

// For comparing with `config`: in the older `saved` a file that has moved lies
// where it lies now, and with `accept_changed_code` it has today's content.
void TakeMovedCode(const RunConfig& config, bool accept_changed_code,
                   RunConfig& saved);

// Whether the files of both configs, as TakeMovedCode has left them, differ.
bool CodeHasChanged(const RunConfig& saved, const RunConfig& config);

}  // namespace gandem
