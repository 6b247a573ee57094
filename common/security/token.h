// SPDX-License-Identifier: Apache-2.0
//
// The token of a run: 32 random bytes, as 64 hexadecimal digits, in
// RUN_DIR/state/token. Whoever can read that file may take part in the run:
// every call between its processes carries the token.
//
// Owner: `gandem train` makes it, once for all restarts. Thread safety: any
// thread.
// Errors: those of private_file.h, and
//   DATA_LOSS  the file holds no token; says what to do.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

std::string TokenPath(const std::string& run_dir);

// A new token from the system's random numbers.
std::string NewToken();

absl::StatusOr<std::string> ReadToken(const std::string& path);

// Returns the token in the file, which is created if it is missing. Concurrent
// callers all return the same token.
absl::StatusOr<std::string> ReadOrCreateToken(const std::string& path);

// Takes the same time whatever `given` is, its length excepted.
bool IsToken(absl::string_view token, absl::string_view given);

}  // namespace gandem
