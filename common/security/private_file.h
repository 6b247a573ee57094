// SPDX-License-Identifier: Apache-2.0
//
// Files with a secret, readable only by their owner.
//
// Owner: the writer of the secret. Thread safety: any thread.
// Errors: those of common/files/file.h, with the path in the message.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

// Creates a file atomically and durably with mode 0600. Never replaces one.
//   ALREADY_EXISTS  another process created it first
absl::Status CreatePrivateFile(const std::string& path,
                               absl::string_view contents);

//   FAILED_PRECONDITION  not a regular file, or others may read or change it;
//                        says what to do
//   INVALID_ARGUMENT     larger than `max_bytes`
absl::StatusOr<std::string> ReadPrivateFile(const std::string& path,
                                            int64_t max_bytes);

}  // namespace gandem
