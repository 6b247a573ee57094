// SPDX-License-Identifier: Apache-2.0
//
// Unpredictable text.
//
// Thread safety: any thread.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>

#include "absl/strings/escaping.h"
#include "common/check.h"

namespace gandem {

// Returns `bytes` (at most 256) random bytes as hexadecimal digits.
inline std::string RandomText(size_t bytes) {
  std::string drawn(bytes, '\0');
  GANDEM_CHECK(getentropy(drawn.data(), drawn.size()) == 0);
  return absl::BytesToHexString(drawn);
}

}  // namespace gandem
