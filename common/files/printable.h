// SPDX-License-Identifier: Apache-2.0
//
// Escapes untrusted text before it is logged, printed or stored: control
// characters could command a terminal, and line breaks could fake a log line.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace gandem {

// Returns one line: control characters (C0 and C1) and bytes that are not UTF-8
// become escapes such as \n or \x1b. Text beyond `max_bytes` (at least 3) is
// replaced by "...".
std::string Printable(absl::string_view text, size_t max_bytes);

// Escapes text of any length but keeps line breaks and tabs.
std::string PrintableText(absl::string_view text);

}  // namespace gandem
