// SPDX-License-Identifier: Apache-2.0
//
// The token of a run: 32 random bytes, as 64 hexadecimal digits, in
// RUN_DIR/state/token. Every call between processes of the run carries the
// token, so any reader of the file may take part in the run.
//
// Owner: `gandem train` creates it, once for all restarts. Thread safety: any
// thread.
// Errors: those of private_file.h, and
//   DATA_LOSS  not a token; says what to do
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

std::string TokenPath(const std::string& run_dir);

std::string NewToken();

absl::StatusOr<std::string> ReadToken(const std::string& path);

// Reads or creates the token. Concurrent callers get equal tokens.
absl::StatusOr<std::string> ReadOrCreateToken(const std::string& path);

// Compares in constant time, except for the length of `given`.
bool IsToken(absl::string_view token, absl::string_view given);

}  // namespace gandem
