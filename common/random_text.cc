// SPDX-License-Identifier: Apache-2.0
#include "common/random_text.h"

#include <unistd.h>

#include "absl/strings/escaping.h"
#include "common/check.h"

namespace gandem {

std::string RandomText(size_t bytes) {
  std::string drawn(bytes, '\0');
  GANDEM_CHECK(getentropy(drawn.data(), drawn.size()) == 0);
  return absl::BytesToHexString(drawn);
}

}  // namespace gandem
