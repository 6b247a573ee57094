// SPDX-License-Identifier: Apache-2.0
//
// Files that hold a secret: nobody but their owner may read them.
//
// Owner: who writes the secret. Thread safety: any thread.
// Errors: those of common/files/file.h, with the path in the message.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

// Mode 0600, whole or not at all, and there after a crash. Never replaces:
//   ALREADY_EXISTS  somebody else was first.
absl::Status CreatePrivateFile(const std::string& path,
                               absl::string_view contents);

//   FAILED_PRECONDITION  it is no regular file, or its mode lets others read or
//                        change it; says what to do.
//   INVALID_ARGUMENT     it has more than `max_bytes`.
absl::StatusOr<std::string> ReadPrivateFile(const std::string& path,
                                            int64_t max_bytes);

}  // namespace gandem
