// SPDX-License-Identifier: Apache-2.0
//
// The process that reads Parquet for gandem, over the socket at its standard
// input. gandem starts it; extras/parquet/README.md says why.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "extras/parquet/data_worker/serve.h"

namespace gandem {
namespace {

// Chosen to hold a row group three times (in the file, decompressed, and as an
// answer), with room to spare.
constexpr rlim_t kMaxMemoryBytes = rlim_t{4} << 30;
constexpr rlim_t kMaxFileBytes = kMaxPayloadBytes + (rlim_t{1} << 20);

void Limit(int resource, rlim_t most) {
  rlimit limit = {};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max < most ? limit.rlim_max : most;
  limit.rlim_max = limit.rlim_cur;
  setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

// Limits the damage that an untrusted file can cause.
void LimitOurselves() {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_NAME, "data_worker");
  prctl(PR_SET_DUMPABLE, 0);
  clearenv();                // a hostile file must not get at the keys for S3
  signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit fails instead
  Limit(RLIMIT_CORE, 0);
  Limit(RLIMIT_FSIZE, kMaxFileBytes);
#if !defined(GANDEM_SANITIZED)
  // Sanitizers need more for their shadow memory.
  Limit(RLIMIT_DATA, kMaxMemoryBytes);
#endif
}

int Main() {
  int type = 0;
  socklen_t size = sizeof(type);
  if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
    std::fputs("data_worker is started by gandem, to read Parquet\n", stderr);
    return 2;
  }
  LimitOurselves();
  FrameSocket socket((OwnedFd(STDIN_FILENO)));
  const absl::Status served = ServeShards(socket);
  if (served.ok()) return 0;
  std::fprintf(stderr, "data_worker: %s\n", served.ToString().c_str());
  return 70;
}

}  // namespace
}  // namespace gandem

int main() {
  const int code = gandem::Main();
  std::fflush(stderr);
  _exit(code);  // skips destructors
}
