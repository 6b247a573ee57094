// SPDX-License-Identifier: Apache-2.0
//
// Finds what a user meant.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "absl/strings/string_view.h"

namespace gandem {

// Insertions, deletions, replacements and swaps of neighbors that turn one into
// the other (optimal string alignment).
size_t EditDistance(absl::string_view a, absl::string_view b);

// The candidate with the smallest distance, ignoring case, if that is at most a
// third of the name (and at least 1); the first of several.
std::optional<std::string> Nearest(absl::string_view name,
                                   std::span<const std::string> candidates);

}  // namespace gandem
