// SPDX-License-Identifier: Apache-2.0
//
// Which processor cores a process runs on, written as "0-3,6".
//
// Thread safety: pure functions, but for those that ask or change the calling
// thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

// Sorted, each once.
//   INVALID_ARGUMENT  not such a list, or one with cores that are not in
//                     `allowed`.
absl::StatusOr<std::vector<int>> ParseCores(absl::string_view text,
                                            std::span<const int> allowed);

// The shortest text for sorted `cores`.
std::string CoresText(std::span<const int> cores);

// Cores that the calling thread may use, sorted.
std::vector<int> AllowedCores();

// `cores` (sorted) without `taken` (sorted).
std::vector<int> CoresWithout(std::span<const int> cores,
                              std::span<const int> taken);

// The calling thread, and those that it starts later, run on `cores` only.
absl::Status RunOnCores(std::span<const int> cores);

}  // namespace gandem
