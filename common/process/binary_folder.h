// SPDX-License-Identifier: Apache-2.0
//
// Where the running binary lies: its siblings are the other programs of gandem.
//
// Thread safety: any thread.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace gandem {

// Absolute, without a final slash.
absl::StatusOr<std::string> BinaryFolder();

}  // namespace gandem
