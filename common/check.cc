// SPDX-License-Identifier: Apache-2.0
#include "common/check.h"

#include <cstdio>
#include <cstdlib>

namespace gandem::internal {

void CheckFailed(const char* file, int line, absl::string_view what) {
  // Does not use the logger, which may itself be broken.
  std::fprintf(stderr, "%s:%d: check failed: %.*s\n", file, line,
               static_cast<int>(what.size()), what.data());
  std::abort();
}

}  // namespace gandem::internal
