// SPDX-License-Identifier: Apache-2.0
#include "common/process/descriptor_limit.h"

#include <sys/resource.h>

namespace gandem {

void PrepareDescriptors() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
      limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    // Refused: the limit stays as it is, and will do for most runs.
    (void)setrlimit(RLIMIT_NOFILE, &limit);
  }
}

}  // namespace gandem
