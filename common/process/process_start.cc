// SPDX-License-Identifier: Apache-2.0
#include "common/process/process_start.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/check.h"

namespace gandem {

void PrepareProcess() {
  // open() takes the lowest descriptor that is free: this one, as those below
  // it are open by then. Not closed by exec, as descriptors 0 to 2 never are.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    GANDEM_CHECK(open("/dev/null", O_RDWR) == fd);
  }
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    // Refused: the limit stays as it is, and will do for most runs.
    (void)setrlimit(RLIMIT_NOFILE, &limit);
  }
  signal(SIGXFSZ, SIG_IGN);
}

}  // namespace gandem
