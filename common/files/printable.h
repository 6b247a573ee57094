// SPDX-License-Identifier: Apache-2.0
//
// Text of others as it may be logged, printed and stored: a terminal obeys the
// control characters in it, and a line break looks like the next line.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace gandem {

// One line: control characters, those of C1 too, and what is not UTF-8 are
// written as \n, \t or \x1b, and what would make it longer than `max_bytes`
// (at least 3) is replaced by "...".
std::string Printable(absl::string_view text, size_t max_bytes);

// The same of any length, with its line breaks and tabs.
std::string PrintableText(absl::string_view text);

}  // namespace gandem
