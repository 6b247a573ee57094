// SPDX-License-Identifier: Apache-2.0
#include "common/check.h"

#include <cstdio>
#include <cstdlib>

namespace gandem::internal {

void CheckFailed(const char* file, int line, absl::string_view what) {
  // No logger: it may be what is broken.
  std::fprintf(stderr, "%s:%d: check failed: %.*s\n", file, line,
               static_cast<int>(what.size()), what.data());
  std::abort();
}

}  // namespace gandem::internal
