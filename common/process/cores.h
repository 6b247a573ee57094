// SPDX-License-Identifier: Apache-2.0
//
// Reads and sets the processor cores of a process, written as "0-3,6".
//
// Thread safety: pure functions, except those that read or set the cores of the
// calling thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

// Returns sorted cores without duplicates.
//   INVALID_ARGUMENT  not a list of cores, or cores that are not in `allowed`
absl::StatusOr<std::vector<int>> ParseCores(absl::string_view text,
                                            std::span<const int> allowed);

// Returns the shortest text for sorted `cores`.
std::string CoresText(std::span<const int> cores);

// Returns the sorted cores that the calling thread may use.
std::vector<int> AllowedCores();

// Returns `cores` without `taken`; both are sorted.
std::vector<int> CoresWithout(std::span<const int> cores,
                              std::span<const int> taken);

// Restricts the calling thread, and threads that it starts later, to `cores`.
absl::Status RunOnCores(std::span<const int> cores);

}  // namespace gandem
