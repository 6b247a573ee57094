// SPDX-License-Identifier: Apache-2.0
//
// Writes strings for parsers of YAML 1.1 and 1.2, which must not read them as
// numbers, booleans or comments.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gandem {

// Returns the UTF-8 `text` in double quotes, with escapes as in JSON.
std::string YamlQuoted(absl::string_view text);

// Returns a list such as ["a", "b"].
std::string YamlList(const std::vector<std::string>& texts);

// Returns the value of a key that is not indented: readable lines after " |2",
// or a quoted string if `text` has characters that such lines cannot hold.
// Parsers read it as `text` with exactly one newline at the end.
std::string YamlLines(absl::string_view text);

}  // namespace gandem
