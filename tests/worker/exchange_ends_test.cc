// SPDX-License-Identifier: Apache-2.0
//
// Tests of how a generator finds the unix socket of a discriminator.
#include "worker/exchange_ends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/files/file.h"
#include "common/monotonic_time.h"
#include "common/process/thread.h"
#include "common/rpc/socket_folder.h"
#include "tests/exchange/exchange_testing.h"
#include "tests/testing/soon.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

const absl::Time kNoTime = absl::InfinitePast();

class ExchangeEndsTest : public ::testing::Test {
 protected:
  std::unique_ptr<ExchangeEnds> Ends(Role role,
                                     const std::string& listen = "") {
    auto ends = ExchangeEnds::Create(role, options_, listen);
    EXPECT_OK(ends);
    return *std::move(ends);
  }

  const ExchangeOptions options_ = gandem::testing::OptionsFor(
      {.lag = 1, .generator_batch = 4, .discriminator_batch = 4});
  const std::unique_ptr<SocketFolder> folder_ = *SocketFolder::Create();
  const std::string address_ = folder_->AddressOf("exchange");
};

TEST_F(ExchangeEndsTest, AnExistingSocketIsUsed) {
  const auto discriminator = Ends(DISCRIMINATOR);
  const auto generator = Ends(GENERATOR);
  EXPECT_OK(generator->Connect({discriminator->address()}, kNoTime));
  EXPECT_NE(generator->generator(), nullptr);
}

// A socket in another mount namespace looks like this.
TEST_F(ExchangeEndsTest, AnInvisibleSocketIsNamedWithTheFlagToUse) {
  const auto generator = Ends(GENERATOR);
  EXPECT_THAT(
      generator->Connect({address_}, kNoTime),
      StatusIs(kPrecondition, AllOf(HasSubstr(address_),
                                    HasSubstr("No such file or directory"),
                                    HasSubstr("--listen HOST:PORT"))));
  EXPECT_EQ(generator->generator(), nullptr);
}

TEST_F(ExchangeEndsTest, ASocketMayAppearLater) {
  const auto generator = Ends(GENERATOR);
  absl::Status connected;
  Thread connecting(
      "connect", [&] { connected = generator->Connect({address_}, Soon()); });
  const auto discriminator = Ends(DISCRIMINATOR, address_);
  connecting.Join();
  EXPECT_OK(connected);
}

// A killed process leaves such a socket; the coordinator decides how to
// proceed.
TEST_F(ExchangeEndsTest, ASocketWithoutAServerIsLeftToTheExchange) {
  ASSERT_OK(WriteFile(folder_->path() + "/exchange", ""));
  const auto generator = Ends(GENERATOR);
  EXPECT_OK(generator->Connect({address_}, kNoTime));
}

TEST_F(ExchangeEndsTest, WaitingForASocketEndsWithTheRun) {
  const auto generator = Ends(GENERATOR);
  absl::Status connected;
  Thread connecting("connect", [&] {
    connected = generator->Connect({address_}, absl::InfiniteFuture());
  });
  generator->Close(absl::CancelledError("the run epoch is over"));
  connecting.Join();
  EXPECT_THAT(connected, StatusIs(absl::StatusCode::kCancelled,
                                  HasSubstr("the run epoch is over")));
}

TEST_F(ExchangeEndsTest, ADiscriminatorOnTheNetworkMustAnswer) {
  const auto discriminator = Ends(DISCRIMINATOR, "127.0.0.1:0");
  const auto generator = Ends(GENERATOR);
  ASSERT_OK(generator->Connect({discriminator->address()}, kNoTime));
  EXPECT_OK(generator->AwaitPeers(Soon()));
}

// A closed port simulates a firewall that refuses connections.
TEST_F(ExchangeEndsTest, AClosedDirectionIsNamed) {
  const auto generator = Ends(GENERATOR);
  ASSERT_OK(generator->Connect({"127.0.0.1:1"}, kNoTime));
  EXPECT_THAT(
      generator->AwaitPeers(kNoTime),
      StatusIs(absl::StatusCode::kDeadlineExceeded,
               HasSubstr(" does not reach the discriminator at 127.0.0.1:1: "
                         "nobody answers (Connection refused)")));
}

TEST_F(ExchangeEndsTest, AFailureEndsTheWaitForAnAnswer) {
  const auto discriminator = Ends(DISCRIMINATOR, "127.0.0.1:0");
  ExchangeOptions other = options_;
  ++other.config_hash;
  const auto generator = *ExchangeEnds::Create(GENERATOR, other, "");
  ASSERT_OK(generator->Connect({discriminator->address()}, kNoTime));
  EXPECT_THAT(generator->AwaitPeers(absl::InfiniteFuture()),
              StatusIs(kPrecondition, HasSubstr("config")));
}

}  // namespace
}  // namespace gandem
