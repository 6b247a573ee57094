// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes both ends of the socket to data_worker with arbitrary received bytes.
// gandem's end supplies bytes of a file and returns an answer or an error;
// data_worker's end receives requests.
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "common/check.h"
#include "extras/parquet/data_worker_client.h"
#include "extras/parquet/frame_socket.h"
#include "tests/fuzz/input_file.h"

namespace gandem {
namespace {

// A socket must take the whole input without a reader.
constexpr size_t kMaxInput = 32 << 10;

// A socket whose other end, held by `kept`, has sent exactly `input`.
FrameSocket SocketWith(absl::string_view input, OwnedFd& kept) {
  int fds[2] = {-1, -1};
  GANDEM_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
  kept = OwnedFd(fds[0]);
  if (!input.empty()) {
    GANDEM_CHECK(send(fds[0], input.data(), input.size(), MSG_NOSIGNAL) ==
                 static_cast<ssize_t>(input.size()));
  }
  GANDEM_CHECK(shutdown(fds[0], SHUT_WR) == 0);
  return FrameSocket(OwnedFd(fds[1]), absl::Milliseconds(10));
}

}  // namespace
}  // namespace gandem

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  const absl::string_view input = TextOf(data, std::min(size, kMaxInput));
  const ShardFile shard = {.number = 0,
                           .file = FileInMemory("input", std::string("PAR1"))};
  OwnedFd kept;
  {
    DataWorkerClient client(SocketWith(input, kept));
    const auto read = client.Read(shard, 0, 1);
    if (read.ok()) GANDEM_CHECK(read->size() == 1);
  }
  FrameSocket requests = SocketWith(input, kept);
  while (true) {
    const auto request = requests.Receive();
    if (!request.ok()) break;
    GANDEM_CHECK(request->frame.payload_bytes <= kMaxPayloadBytes);
  }
  return 0;
}
