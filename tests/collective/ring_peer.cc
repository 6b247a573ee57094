// SPDX-License-Identifier: Apache-2.0
//
// One rank of a ring in its own process, for ring_process_test.cc:
//   ring_peer RANK FOLDER SIZE
// Sums until an operation fails, then prints the error and exits.
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "collective/ring_collective.h"
#include "common/check.h"
#include "tests/testing/test_credentials.h"

int main(int argc, char** argv) {
  int rank = -1;
  int size = 0;
  GANDEM_CHECK(argc == 4 && absl::SimpleAtoi(argv[1], &rank) &&
               absl::SimpleAtoi(argv[3], &size));
  gandem::testing::UseTestCredentials();
  gandem::RingOptions options = {.rank = rank};
  for (int i = 0; i < size; ++i) {
    options.peers.push_back(
        {.local_address = absl::StrCat("unix:", argv[2], "/", i)});
  }
  auto listener = gandem::RingListener::Start(
      {.local_address = options.peers[rank].local_address});
  GANDEM_CHECK_OK(listener.status());
  auto ring = gandem::CreateRing(*std::move(listener), options);
  GANDEM_CHECK_OK(ring.status());
  std::vector<std::byte> values(1 << 20);
  absl::Status status;
  for (int i = 0; status.ok(); ++i) {
    status =
        (*ring)->Wait((*ring)->AllReduce(values, gandem::ElementType::kFloat32),
                      absl::Now() + absl::Seconds(60));
    if (i == 2) {
      std::puts("running");
      std::fflush(stdout);
    }
  }
  std::puts(std::string(status.message()).c_str());
  return 0;
}
