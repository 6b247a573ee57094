// SPDX-License-Identifier: Apache-2.0
#include "common/process/process_start.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/check.h"

namespace gandem {

void PrepareProcess() {
  // open() returns the lowest free descriptor, which is `fd`. exec must not
  // close it.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    GANDEM_CHECK(open("/dev/null", O_RDWR) == fd);
  }
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    // If refused, the old limit stays, which is enough for most runs.
    (void)setrlimit(RLIMIT_NOFILE, &limit);
  }
  signal(SIGXFSZ, SIG_IGN);
}

}  // namespace gandem
