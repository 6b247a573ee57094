// SPDX-License-Identifier: Apache-2.0
//
// Text that nobody can guess.
//
// Thread safety: any thread.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>

#include "absl/strings/escaping.h"
#include "common/check.h"

namespace gandem {

// So many of the system's random bytes, at most 256, in hexadecimal digits.
inline std::string RandomText(size_t bytes) {
  std::string drawn(bytes, '\0');
  GANDEM_CHECK(getentropy(drawn.data(), drawn.size()) == 0);
  return absl::BytesToHexString(drawn);
}

}  // namespace gandem
