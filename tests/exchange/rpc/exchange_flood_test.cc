// SPDX-License-Identifier: Apache-2.0
//
// Strangers that send a discriminator as much as they can.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "common/process/thread.h"
#include "common/rpc/opening.h"
#include "exchange/discriminator_end.h"
#include "exchange/rpc/exchange_client.h"
#include "exchange/rpc/exchange_server.h"
#include "tests/exchange/exchange_testing.h"
#include "tests/exchange/rpc/raw_stream.h"
#include "tests/testing/large_message.h"
#include "tests/testing/memory.h"
#include "tests/testing/soon.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::GrowthWhile;
using gandem::testing::Images;
using gandem::testing::LargeMessage;
using gandem::testing::RawStream;

constexpr int kStreams = 64;
constexpr size_t kMessageMiB = 64;
constexpr int64_t kMessageBytes = kMessageMiB << 20;
// The buffers that gRPC reads into, of 64 connections, come to 20 to 50 MiB.
// What is sent is 4 GiB.
constexpr int64_t kMostGrowth = int64_t{128} << 20;

// Whether every call of theirs is refused.
bool Flood(const std::string& address, const Frame& opening) {
  const char* const names[] = {"PutImages", "Feedback", "FetchCritic", "Hello"};
  std::atomic<int> refused = 0;
  std::vector<Thread> strangers;
  for (int i = 0; i < kStreams; ++i) {
    strangers.emplace_back("stranger", [&, i] {
      const auto channel = gandem::testing::RawChannel(address);
      const std::string name = names[i % 4];
      const auto stream =
          i % 8 < 4 ? std::make_unique<RawStream>(channel, name)
                    : std::make_unique<RawStream>(channel, name, opening);
      stream->Write(LargeMessage(kMessageMiB));
      if (!stream->Read().ok()) ++refused;
    });
  }
  for (Thread& stranger : strangers) stranger.Join();
  return refused == kStreams;
}

// In a process of their own, whose memory does not count; it is forked before
// gRPC has threads.
class FloodProcess {
 public:
  explicit FloodProcess(const Frame& opening) {
    EXPECT_EQ(pipe(go_), 0);
    process_ = fork();
    if (process_ != 0) return;
    char address[100] = {};
    const ssize_t size = read(go_[0], address, sizeof(address) - 1);
    _exit(size > 0 && Flood(address, opening) ? 0 : 1);
  }
  // Lets them begin, and waits for their end: whether all were refused.
  bool Run(const std::string& address) const {
    int status = -1;
    return write(go_[1], address.data(), address.size()) > 0 &&
           waitpid(process_, &status, 0) == process_ && status == 0;
  }

 private:
  int go_[2] = {-1, -1};
  pid_t process_ = -1;
};

TEST(ExchangeFloodTest, NothingOfAStrangerIsKept) {
  ExchangeOptions options = gandem::testing::OptionsFor(
      {.lag = 1, .generator_batch = 4, .discriminator_batch = 4});
  options.max_message_bytes = kMessageBytes;
  // Of a generator that has not greeted.
  const FloodProcess flood({.sender = {.run_epoch = options.run_epoch},
                            .body = OpenFrame{.version = -1}});
  const auto discriminator = *DiscriminatorEnd::Create(options);
  const auto server = *ExchangeServer::Start(
      {.address = "127.0.0.1:0", .exchange = options}, discriminator.get());
  const int64_t growth =
      GrowthWhile([&] { EXPECT_TRUE(flood.Run(server->address())); });
  if (gandem::testing::kMeasuresMemory) {
    EXPECT_LT(growth, kMostGrowth);
  }
  EXPECT_EQ(discriminator->stats().cache_images, 0);
  // Who belongs there is served.
  ASSERT_OK_AND_ASSIGN(const auto generator,
                       CreateExchangeClient({.address = server->address(),
                                             .exchange = options}));
  ASSERT_OK(generator->PutImages(Images(0, 0, 4), Soon()));
  EXPECT_OK(discriminator->TakeImages(0, 0, 4, Soon()));
}

}  // namespace
}  // namespace gandem
