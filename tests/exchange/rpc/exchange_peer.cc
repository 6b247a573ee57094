// SPDX-License-Identifier: Apache-2.0
//
// One side of a run without networks as a separate process, for tests that stop
// or kill it:
//   exchange_peer generator|discriminator ADDRESS LAST_ROUND
#include "tests/exchange/rpc/exchange_peer.h"

#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "common/process/failpoint.h"
#include "exchange/discriminator_end.h"
#include "exchange/rpc/exchange_client.h"
#include "exchange/rpc/exchange_server.h"
#include "tests/exchange/round_driver.h"
#include "tests/testing/test_credentials.h"

namespace gandem::testing {
namespace {

template <typename Driver>
absl::Status RunPeerToEnd(Driver& driver) {
  for (;;) {
    const absl::StatusOr<bool> more =
        driver.Advance(absl::Now() + absl::Seconds(1));
    if (absl::IsDeadlineExceeded(more.status())) continue;
    if (!more.ok() || !*more) return more.status();
  }
}

absl::Status RunGenerator(const std::string& address, int64_t last_round) {
  const auto exchange =
      CreateExchangeClient({.address = address, .exchange = PeerOptions()});
  if (!exchange.ok()) return exchange.status();
  GeneratorDriver driver(PeerOptions(), last_round, exchange->get());
  return RunPeerToEnd(driver);
}

absl::Status RunDiscriminator(const std::string& address, int64_t last_round) {
  DiscriminatorEnd end(PeerOptions());
  const auto server = ExchangeServer::Start(
      {.address = address, .exchange = PeerOptions()}, &end);
  if (!server.ok()) return server.status();
  DiscriminatorDriver driver(PeerOptions(), last_round, &end);
  return RunPeerToEnd(driver);
}

}  // namespace
}  // namespace gandem::testing

int main(int argc, char** argv) {
  using namespace gandem::testing;
  int64_t last_round = 0;
  if (argc != 4 || !absl::SimpleAtoi(argv[3], &last_round)) return 2;
  UseTestCredentials();
  absl::Status status = gandem::ArmFailpointFromEnvironment(argv[1]);
  if (status.ok()) {
    status = std::string(argv[1]) == "generator"
                 ? RunGenerator(argv[2], last_round)
                 : RunDiscriminator(argv[2], last_round);
  }
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
