// SPDX-License-Identifier: Apache-2.0
//
// Texts as YAML 1.1 and 1.2 both read them: nothing is taken for a number, a
// boolean or a comment.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gandem {

// `text` in double quotes, with escapes that JSON has, too. `text` is UTF-8.
std::string YamlQuoted(absl::string_view text);

// ["a", "b"]
std::string YamlList(const std::vector<std::string>& texts);

// The value of a key that is not indented: " |2" and lines that people can
// read; in quotes where the text has characters that such lines cannot have.
// Ends with a new line. Read back it is `text`, but that it ends with exactly
// one new line.
std::string YamlLines(absl::string_view text);

}  // namespace gandem
