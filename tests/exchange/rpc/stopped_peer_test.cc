// SPDX-License-Identifier: Apache-2.0
//
// The other side is a process that is stopped in mid-run: nothing fails, this
// side waits, and the run finishes after the process continues.
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/rpc/socket_folder.h"
#include "exchange/discriminator_end.h"
#include "exchange/rpc/exchange_client.h"
#include "exchange/rpc/exchange_server.h"
#include "tests/exchange/round_driver.h"
#include "tests/exchange/rpc/exchange_peer.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_programs.h"

namespace gandem {
namespace {

using gandem::testing::PeerOptions;
using gandem::testing::TestProgram;
constexpr int64_t kLastRound = 200;
constexpr int64_t kRoundsBetweenStops = 20;

class Peer {
 public:
  Peer(std::string role, std::string address) {
    std::string program = TestProgram("exchange_peer");
    std::string last_round = absl::StrCat(kLastRound);
    char* const arguments[] = {program.data(), role.data(), address.data(),
                               last_round.data(), nullptr};
    EXPECT_EQ(posix_spawn(&pid_, program.c_str(), nullptr, nullptr, arguments,
                          environ),
              0);
  }
  ~Peer() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  // Stops the process and returns when it has stopped.
  void Stop() {
    kill(pid_, SIGSTOP);
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, WUNTRACED), pid_);
    EXPECT_TRUE(WIFSTOPPED(status));
  }
  void Continue() { kill(pid_, SIGCONT); }
  // Waits for the process to end; returns the exit code.
  int Wait() {
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
};

// Runs this side. Stops the other side every 20 rounds, checks that this side
// waits without failing, and continues it. The last round has no stop: the
// other side, up to a lag ahead, may have ended by then.
template <typename Driver>
void RunAndStop(Driver& driver, Peer& peer) {
  int64_t next_stop = kRoundsBetweenStops;
  bool stopped = false;
  for (bool more = true; more;) {
    if (!stopped && next_stop < kLastRound && driver.round() >= next_stop) {
      peer.Stop();
      stopped = true;
      next_stop += kRoundsBetweenStops;
    }
    const absl::StatusOr<bool> advanced =
        driver.Advance(absl::Now() + absl::Milliseconds(stopped ? 50 : 1000));
    if (absl::IsDeadlineExceeded(advanced.status())) {
      if (stopped) peer.Continue();
      stopped = false;
      continue;
    }
    ASSERT_OK(advanced);
    more = *advanced;
    // A stopped peer cannot carry this side through the run.
    ASSERT_FALSE(stopped && driver.round() > next_stop);
  }
  EXPECT_EQ(next_stop, kLastRound);
  EXPECT_EQ(peer.Wait(), 0);
}

TEST(StoppedPeerTest, TheDiscriminatorWaitsForAStoppedGenerator) {
  const auto folder = *SocketFolder::Create();
  const auto end = std::make_unique<DiscriminatorEnd>(PeerOptions());
  const auto server = *ExchangeServer::Start(
      {.address = folder->AddressOf("exchange"), .exchange = PeerOptions()},
      end.get());
  Peer peer("generator", server->address());
  gandem::testing::DiscriminatorDriver driver(PeerOptions(), kLastRound,
                                              end.get());
  RunAndStop(driver, peer);
}

TEST(StoppedPeerTest, TheGeneratorWaitsForAStoppedDiscriminator) {
  const auto folder = *SocketFolder::Create();
  const std::string address = folder->AddressOf("exchange");
  Peer peer("discriminator", address);
  const auto exchange =
      *CreateExchangeClient({.address = address, .exchange = PeerOptions()});
  gandem::testing::GeneratorDriver driver(PeerOptions(), kLastRound,
                                          exchange.get());
  RunAndStop(driver, peer);
}

}  // namespace
}  // namespace gandem
