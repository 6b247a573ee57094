// SPDX-License-Identifier: Apache-2.0
#include "common/process/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include "common/check.h"

namespace gandem {

// open() takes the lowest descriptor that is free: this one, as those below it
// are open by then. Not closed by exec, as descriptors 0 to 2 never are.
void OpenStandardStreams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    GANDEM_CHECK(open("/dev/null", O_RDWR) == fd);
  }
}

}  // namespace gandem
