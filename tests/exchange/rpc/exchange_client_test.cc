// SPDX-License-Identifier: Apache-2.0
//
// The generator's end with a faulty network or a faulty other process.
#include "exchange/rpc/exchange_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/process/failpoint.h"
#include "common/rpc/socket_folder.h"
#include "exchange/discriminator_end.h"
#include "exchange/rpc/exchange_server.h"
#include "tests/exchange/exchange_testing.h"
#include "tests/exchange/round_driver.h"
#include "tests/testing/eventually.h"
#include "tests/testing/socket_proxy.h"
#include "tests/testing/soon.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::Critic;
using gandem::testing::Eventually;
using gandem::testing::Images;
using gandem::testing::Places;
using gandem::testing::SocketProxy;
using gandem::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
constexpr auto kAborted = absl::StatusCode::kAborted;
const absl::Time kPast = absl::InfinitePast();

constexpr Schedule kSchedule{
    .lag = 1, .generator_batch = 4, .discriminator_batch = 4};

class ExchangeClientTest : public ::testing::Test {
 protected:
  void StartServer(const ExchangeOptions& options) {
    if (discriminator_ == nullptr) {
      discriminator_ = std::make_unique<DiscriminatorEnd>(options);
    }
    server_ = *ExchangeServer::Start(
        {.address = folder_->AddressOf("server"), .exchange = options},
        discriminator_.get());
  }
  void StartProxy() {
    proxy_.reset();
    proxy_ = *SocketProxy::Start(folder_->path() + "/proxy",
                                 folder_->path() + "/server");
  }
  void StartClient(const ExchangeOptions& options, const char* socket) {
    generator_ = *CreateExchangeClient({.address = folder_->AddressOf(socket),
                                        .exchange = options,
                                        .on_damage = [this] { ++damaged_; }});
  }

  const std::unique_ptr<SocketFolder> folder_ = *SocketFolder::Create();
  std::unique_ptr<DiscriminatorEnd> discriminator_;
  std::unique_ptr<ExchangeServer> server_;
  std::unique_ptr<SocketProxy> proxy_;
  std::atomic<int> damaged_ = 0;
  std::unique_ptr<GeneratorExchange> generator_;
};

TEST_F(ExchangeClientTest, TheClientWaitsForAServerThatStartsLater) {
  const ExchangeOptions options = gandem::testing::OptionsFor(kSchedule);
  StartClient(options, "server");
  ASSERT_OK(generator_->PutImages(Images(0, 0, 4), Soon()));
  EXPECT_THAT(generator_->TakeCritic(0, kPast),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  StartServer(options);
  EXPECT_OK(discriminator_->TakeImages(0, 0, 4, Soon()));
  ASSERT_OK(discriminator_->PublishCritic(Critic(0), Soon()));
  EXPECT_OK(generator_->TakeCritic(0, Soon()));
}

TEST_F(ExchangeClientTest, DataThatALostConnectionMayHaveLostIsSentAgain) {
  const ExchangeOptions options = gandem::testing::OptionsFor(kSchedule);
  StartServer(options);
  StartProxy();
  StartClient(options, "proxy");
  ASSERT_OK(generator_->PutImages(Images(0, 0, 2), Soon()));
  ASSERT_OK(discriminator_->TakeImages(0, 0, 2, Soon()));
  proxy_->Cut();
  ASSERT_OK(generator_->PutImages(Images(0, 2, 2), Soon()));
  ASSERT_OK(discriminator_->TakeImages(0, 2, 2, Soon()));
  ASSERT_OK(discriminator_->PublishCritic(Critic(0), Soon()));
  proxy_->Cut();
  EXPECT_OK(generator_->TakeCritic(0, Soon()));
  ASSERT_OK(discriminator_->PublishCritic(Critic(1), Soon()));
  EXPECT_OK(generator_->TakeCritic(1, Soon()));
  ASSERT_OK(generator_->Finish(Soon()));
  EXPECT_EQ(discriminator_->stats().cache_images, 0);
}

// Cuts at many points of the traffic, starting with the handshake.
TEST_F(ExchangeClientTest, WholeRunsFinishOverAConnectionThatIsCutRepeatedly) {
  for (auto feedback :
       {FeedbackMode::kSnapshot, FeedbackMode::kImageGradient}) {
    Schedule schedule = {.lag = 2,
                         .discriminator_steps_per_round = 2,
                         .image_source = ImageSource::kFresh,
                         .feedback = feedback,
                         .generator_batch = 6,
                         .discriminator_batch = 4,
                         .generator_micro_batch = 3,
                         .discriminator_micro_batch = 2};
    ExchangeOptions options = gandem::testing::OptionsFor(schedule);
    options.cache_rounds = 2;
    discriminator_.reset();
    StartServer(options);
    StartProxy();
    proxy_->CutAfter(1);
    StartClient(options, "proxy");
    constexpr int64_t kLastRound = 30;
    gandem::testing::GeneratorDriver generator(options, kLastRound,
                                               generator_.get());
    gandem::testing::DiscriminatorDriver discriminator(options, kLastRound,
                                                       discriminator_.get());
    std::atomic<bool> is_over = false;
    std::thread cutter([&] {
      // A run takes about 20,000 bytes, a connection's handshake 1,000. A run
      // may end sooner if it progresses far between two checks.
      for (int64_t cut = 1; cut < 12; ++cut) {
        EXPECT_TRUE(
            Eventually([&] { return is_over || proxy_->num_cuts() >= cut; }));
        if (is_over) return;
        proxy_->CutAfter(300 + 337 * cut);
      }
    });
    EXPECT_OK(
        gandem::testing::RunBoth(generator, discriminator, absl::Seconds(1)));
    is_over = true;
    cutter.join();
    EXPECT_EQ(discriminator.images_trained(), (kLastRound + 1) * 8);
    EXPECT_GE(proxy_->num_connections(), 5);
    generator_.reset();
    server_.reset();
  }
}

TEST_F(ExchangeClientTest, DamagedDataIsSentAgain) {
  const ExchangeOptions options = gandem::testing::OptionsFor(kSchedule);
  for (int frame = 1; frame <= 12; ++frame) {
    const int before = damaged_;
    server_.reset();
    discriminator_.reset();
    StartServer(options);
    // Damages prefix, header or payload.
    ASSERT_OK(ArmFailpoint(absl::StrCat("corrupt=", 83 * (frame - 1),
                                        " exchange.encode_frame:", frame)));
    StartClient(options, "server");
    for (int64_t round = 0; round < 4; ++round) {
      ASSERT_OK(generator_->PutImages(Images(round, 0, 4), Soon()));
      ASSERT_OK_AND_ASSIGN(const TakenImages taken,
                           discriminator_->TakeImages(round, 0, 4, Soon()));
      EXPECT_THAT(Places(taken.pieces),
                  ElementsAre(Pair(round, 0), Pair(round, 1), Pair(round, 2),
                              Pair(round, 3)));
      discriminator_->FinishRound(round);
      ASSERT_OK(discriminator_->PublishCritic(Critic(round), Soon()));
      ASSERT_OK_AND_ASSIGN(const CriticState critic,
                           generator_->TakeCritic(round, Soon()));
      EXPECT_EQ(critic.version, round);
    }
    ASSERT_OK(generator_->Finish(Soon()));
    EXPECT_EQ(generator_->messages_damaged(), 1);
    EXPECT_EQ(damaged_, before + 1);
    generator_.reset();
  }
  ASSERT_OK(ArmFailpoint(""));
}

// Damages any byte of a message, gRPC's length included. A wrong length may
// make a peer wait forever, until the connection is cut.
TEST_F(ExchangeClientTest, OneWrongBitOfAMessageCostsTheConnectionAtMost) {
  const ExchangeOptions options = gandem::testing::OptionsFor(kSchedule);
  constexpr int64_t kLastRound = 3;
  for (int64_t place = 0; place < 4000; place += 97) {
    SCOPED_TRACE(place);
    generator_.reset();
    server_.reset();
    discriminator_.reset();
    StartServer(options);
    StartProxy();
    proxy_->DamageAfter(place);
    StartClient(options, "proxy");
    gandem::testing::GeneratorDriver generator(options, kLastRound,
                                               generator_.get());
    gandem::testing::DiscriminatorDriver discriminator(options, kLastRound,
                                                       discriminator_.get());
    absl::Notification is_over;
    std::thread impatient([&] {
      absl::Duration patience = absl::Milliseconds(300);
      while (!is_over.WaitForNotificationWithTimeout(patience)) {
        proxy_->Cut();
        patience *= 2;
      }
    });
    EXPECT_OK(
        gandem::testing::RunBoth(generator, discriminator, absl::Seconds(20)));
    is_over.Notify();
    impatient.join();
    EXPECT_EQ(discriminator.images_trained(), (kLastRound + 1) * 4);
  }
}

TEST_F(ExchangeClientTest, ALinkThatDamagesEverythingIsAnError) {
  const ExchangeOptions options = gandem::testing::OptionsFor(kSchedule);
  StartServer(options);
  ASSERT_OK(ArmFailpoint("corrupt exchange.encode_frame:1+"));
  StartClient(options, "server");
  ASSERT_OK(generator_->PutImages(Images(0, 0, 4), Soon()));
  EXPECT_THAT(generator_->TakeCritic(0, Soon()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("checksum")));
  EXPECT_EQ(generator_->messages_damaged(), 2);
  ASSERT_OK(ArmFailpoint(""));
}

TEST_F(ExchangeClientTest, ContinuesWithARestartedServerOfTheSameProcess) {
  const ExchangeOptions options = gandem::testing::OptionsFor(kSchedule);
  StartServer(options);
  StartClient(options, "server");
  ASSERT_OK(generator_->PutImages(Images(0, 0, 2), Soon()));
  ASSERT_OK(discriminator_->TakeImages(0, 0, 2, Soon()));
  server_.reset();
  ASSERT_OK(generator_->PutImages(Images(0, 2, 2), Soon()));
  StartServer(options);
  EXPECT_OK(discriminator_->TakeImages(0, 2, 2, Soon()));
}

TEST_F(ExchangeClientTest, AnotherProcessOfTheSameEpochAborts) {
  ExchangeOptions options = gandem::testing::OptionsFor(kSchedule);
  StartServer(options);
  StartClient(options, "server");
  ASSERT_OK(generator_->PutImages(Images(0, 0, 4), Soon()));
  ASSERT_OK(discriminator_->TakeImages(0, 0, 4, Soon()));
  server_.reset();
  discriminator_.reset();
  options.incarnation = 6;
  StartServer(options);
  EXPECT_THAT(generator_->TakeCritic(0, Soon()),
              StatusIs(kAborted, HasSubstr("replaced by another one")));
}

TEST_F(ExchangeClientTest, AnOldRunEpochAborts) {
  ExchangeOptions options = gandem::testing::OptionsFor(kSchedule);
  StartServer(options);
  StartClient(options, "server");
  ASSERT_OK(generator_->PutImages(Images(0, 0, 4), Soon()));
  ASSERT_OK(discriminator_->TakeImages(0, 0, 4, Soon()));
  server_.reset();
  discriminator_.reset();
  ++options.run_epoch;
  StartServer(options);
  EXPECT_THAT(generator_->TakeCritic(0, Soon()),
              StatusIs(kAborted, HasSubstr("run epoch 3 is over")));
}

TEST_F(ExchangeClientTest, AnOldIncarnationOfTheGeneratorAborts) {
  ExchangeOptions options = gandem::testing::OptionsFor(kSchedule);
  StartServer(options);
  StartClient(options, "server");
  ASSERT_OK(generator_->PutImages(Images(0, 0, 4), Soon()));
  ASSERT_OK(discriminator_->TakeImages(0, 0, 4, Soon()));
  ++options.incarnation;
  const auto newer = *CreateExchangeClient(
      {.address = server_->address(), .exchange = options});
  EXPECT_THAT(
      generator_->TakeCritic(0, Soon()),
      StatusIs(kAborted, HasSubstr("is not the one that greeted last")));
}

TEST_F(ExchangeClientTest, RefusalsAreSticky) {
  ExchangeOptions options = gandem::testing::OptionsFor(kSchedule);
  StartServer(options);
  options.config_hash = 1;
  StartClient(options, "server");
  const absl::Status refused = generator_->TakeCritic(0, Soon()).status();
  EXPECT_THAT(refused, StatusIs(kPrecondition, HasSubstr("configuration")));
  EXPECT_EQ(generator_->PutImages(Images(0, 0, 4), Soon()), refused);
  EXPECT_EQ(generator_->Finish(Soon()), refused);
  generator_->Close(absl::CancelledError("later"));
  EXPECT_EQ(generator_->Finish(Soon()), refused);
}

TEST_F(ExchangeClientTest, ImagesThatTheServerRefusesCauseAStickyError) {
  ExchangeOptions options = gandem::testing::OptionsFor(kSchedule);
  StartServer(options);
  StartClient(options, "server");
  // Round 2 is beyond the window of rounds.
  ASSERT_OK(generator_->PutImages(Images(2, 0, 4), Soon()));
  EXPECT_THAT(generator_->Finish(Soon()),
              StatusIs(kPrecondition, HasSubstr("window")));
}

TEST_F(ExchangeClientTest, CloseAndDestructionDoNotWait) {
  const ExchangeOptions options = gandem::testing::OptionsFor(kSchedule);
  const absl::Time begin = absl::Now();
  StartClient(options, "nobody");
  generator_->Close(absl::CancelledError("enough"));
  generator_.reset();
  StartServer(options);
  StartClient(options, "server");
  ASSERT_OK(generator_->PutImages(Images(0, 0, 4), Soon()));
  generator_.reset();
  StartClient(options, "server");
  server_.reset();
  generator_.reset();
  // Hello gives up after 10 s.
  EXPECT_LT(absl::Now() - begin, absl::Seconds(8));
}

TEST_F(ExchangeClientTest, AnInvalidAddressIsNamed) {
  EXPECT_THAT(
      CreateExchangeClient(
          {.address = "nonsense",
           .exchange = gandem::testing::OptionsFor(kSchedule)}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nonsense")));
}

}  // namespace
}  // namespace gandem
