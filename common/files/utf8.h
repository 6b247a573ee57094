// SPDX-License-Identifier: Apache-2.0
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"

namespace gandem {

// Returns the length of the longest valid UTF-8 prefix (RFC 3629: no overlong
// forms, no surrogates, at most U+10FFFF).
size_t ValidUtf8Prefix(absl::string_view bytes);

inline bool IsValidUtf8(absl::string_view bytes) {
  return ValidUtf8Prefix(bytes) == bytes.size();
}

}  // namespace gandem
