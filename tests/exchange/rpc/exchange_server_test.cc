// SPDX-License-Identifier: Apache-2.0
//
// The server's reaction to broken, old or hostile peers: each call is refused
// with a documented code, and the run continues unharmed.
#include "exchange/rpc/exchange_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/rpc/grpc_status.h"
#include "common/rpc/socket_folder.h"
#include "exchange/discriminator_end.h"
#include "exchange/rpc/exchange_client.h"
#include "tests/exchange/exchange_testing.h"
#include "tests/exchange/rpc/raw_stream.h"
#include "tests/testing/soon.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::Images;
using gandem::testing::RawStream;
using gandem::testing::StatusIs;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class ExchangeServiceTest : public ::testing::Test {
 protected:
  ExchangeServiceTest() {
    Schedule schedule{.lag = 1, .generator_batch = 4, .discriminator_batch = 4};
    options_ = gandem::testing::OptionsFor(schedule);
    options_.num_generators = 2;
    options_.max_message_bytes = 64 << 10;
    Start();
  }

  void Start() {
    server_.reset();
    discriminator_ = std::make_unique<DiscriminatorEnd>(options_);
    server_ = *ExchangeServer::Start(
        {.address = folder_->AddressOf("exchange"), .exchange = options_},
        discriminator_.get());
    channel_ = gandem::testing::RawChannel(server_->address());
  }

  absl::StatusOr<HelloReply> Hello(int64_t run_epoch, int64_t incarnation,
                                   int rank, uint64_t config_hash = 17) {
    HelloRequest request;
    request.set_run_epoch(run_epoch);
    request.set_incarnation(incarnation);
    request.set_rank(rank);
    request.set_config_hash(config_hash);
    request.set_crc32c(damages_hello_ ? 1 : Crc32cOf(request));
    HelloReply reply;
    grpc::ClientContext context;
    const grpc::Status status =
        Exchange::NewStub(channel_)->Hello(&context, request, &reply);
    if (!status.ok()) return FromGrpcStatus(status);
    return reply;
  }

  // Signs a frame like a generator of this run.
  static Frame Signed(Frame frame, int rank = 0) {
    frame.sender = {.run_epoch = 3, .incarnation = 8, .rank = rank};
    return frame;
  }
  static Frame Open(int rank = 0) {
    return Signed({.body = OpenFrame{.version = -1}}, rank);
  }

  // Opens a stream as generator 0.
  std::unique_ptr<RawStream> OpenStream(const std::string& name) {
    EXPECT_OK(Hello(3, 8, 0));
    return std::make_unique<RawStream>(channel_, name, Open());
  }

  // Returns the status with which a stream ends after this message.
  absl::Status EndAfter(const std::string& name,
                        const grpc::ByteBuffer& message) {
    const auto stream = OpenStream(name);
    stream->Write(message);
    return stream->Read().status();
  }

  void ExpectNothingArrived() {
    EXPECT_EQ(discriminator_->stats().cache_images, 0);
  }

  const std::unique_ptr<SocketFolder> folder_ = *SocketFolder::Create();
  ExchangeOptions options_;
  bool damages_hello_ = false;  // in transit
  std::unique_ptr<DiscriminatorEnd> discriminator_;
  std::unique_ptr<ExchangeServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

std::string ReasonOf(const absl::Status& status) {
  const auto detail = GetErrorDetail(status);
  return detail.has_value() ? detail->reason() : "";
}

// The error must not claim that the generator has another config.
TEST_F(ExchangeServiceTest, ADamagedHelloIsNotARefusal) {
  damages_hello_ = true;
  EXPECT_THAT(Hello(3, 8, 0), StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(ExchangeServiceTest, HelloIdentifiesTheServer) {
  ASSERT_OK_AND_ASSIGN(const HelloReply reply, Hello(3, 8, 0));
  EXPECT_EQ(reply.crc32c(), Crc32cOf(reply));
  EXPECT_EQ(reply.run_epoch(), 3);
  EXPECT_EQ(reply.incarnation(), 5);
  EXPECT_EQ(reply.rank(), 0);
}

TEST_F(ExchangeServiceTest, HelloChecksTheGenerator) {
  absl::Status status = Hello(3, 8, 0, /*config_hash=*/18).status();
  EXPECT_THAT(status, StatusIs(kPrecondition, HasSubstr("configuration")));
  EXPECT_EQ(ReasonOf(status), "wrong_config");
  status = Hello(2, 8, 0).status();
  EXPECT_THAT(status, StatusIs(kPrecondition, HasSubstr("run epoch 2")));
  EXPECT_EQ(ReasonOf(status), "wrong_epoch");
  // This server is the older process.
  EXPECT_THAT(Hello(4, 8, 0), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(Hello(3, 8, 2), StatusIs(kInvalid, HasSubstr("rank 2")));
  EXPECT_THAT(Hello(3, 8, -1), StatusIs(kInvalid, HasSubstr("rank -1")));
  EXPECT_OK(Hello(3, 8, 1));
}

TEST_F(ExchangeServiceTest, ANewerProcessSupersedesItsPredecessor) {
  const auto stream = OpenStream("PutImages");
  ASSERT_TRUE(stream->Write(Signed({.body = Images(0, 0, 2)})));
  ASSERT_OK(stream->Read());
  ASSERT_OK(Hello(3, 9, 0));
  stream->Write(Signed({.body = Images(0, 2, 2)}));
  absl::Status status = stream->Read().status();
  EXPECT_THAT(status, StatusIs(kPrecondition));
  EXPECT_EQ(ReasonOf(status), "superseded");
  status = Hello(3, 8, 0).status();
  EXPECT_EQ(ReasonOf(status), "superseded");
  EXPECT_EQ(discriminator_->stats().cache_images, 2);
}

TEST_F(ExchangeServiceTest, StreamsNeedHelloAndOpen) {
  {
    RawStream stream(channel_, "PutImages", Open());
    const absl::Status status = stream.Read().status();
    EXPECT_THAT(status, StatusIs(kPrecondition));
    EXPECT_EQ(ReasonOf(status), "no_hello");
  }
  ASSERT_OK(Hello(3, 8, 0));
  for (const char* name : {"PutImages", "Feedback", "FetchCritic"}) {
    const Frame images = Signed({.body = Images(0, 0, 4)});
    RawStream wrong(channel_, name, images);
    EXPECT_THAT(wrong.Read(), StatusIs(kInvalid, HasSubstr("OPEN"))) << name;
    const grpc::Slice garbage(std::string(100, '\xff'));
    RawStream hostile(channel_, name, grpc::ByteBuffer(&garbage, 1));
    EXPECT_THAT(hostile.Read(), StatusIs(absl::StatusCode::kDataLoss)) << name;
  }
  ExpectNothingArrived();
}

TEST_F(ExchangeServiceTest, EveryFrameIsChecked) {
  Frame frame = Signed({.body = Images(0, 0, 4)});
  frame.sender.run_epoch = 2;
  EXPECT_EQ(ReasonOf(EndAfter("PutImages", ExchangeCodec::Encode(frame))),
            "wrong_epoch");
  frame = Signed({.body = Images(0, 0, 4)});
  frame.sender.incarnation = 7;
  EXPECT_EQ(ReasonOf(EndAfter("PutImages", ExchangeCodec::Encode(frame))),
            "superseded");
  ASSERT_OK(Hello(3, 8, 1));
  EXPECT_THAT(
      EndAfter("PutImages", ExchangeCodec::Encode(
                                Signed({.body = Images(0, 0, 4)}, /*rank=*/1))),
      StatusIs(kInvalid, HasSubstr("generator 1 in a stream of generator 0")));
  ExpectNothingArrived();
}

TEST_F(ExchangeServiceTest, InvalidBytesAreRefused) {
  for (const std::string& bytes :
       {std::string(), std::string("abc"), std::string(1000, '\xff'),
        std::string(5000, '\0')}) {
    const grpc::Slice slice(bytes);
    for (const char* name : {"PutImages", "Feedback", "FetchCritic"}) {
      const absl::Status end = EndAfter(name, grpc::ByteBuffer(&slice, 1));
      EXPECT_THAT(end.code(), AnyOf(kInvalid, absl::StatusCode::kDataLoss));
      EXPECT_THAT(end.message(), HasSubstr("malformed"))
          << name << " " << bytes.size();
    }
  }
  ExpectNothingArrived();
}

TEST_F(ExchangeServiceTest, ATruncatedMessageIsRefused) {
  const std::string head =
      EncodeFrameHead(Signed({.body = Images(0, 0, 4)})) + "abc";
  const grpc::Slice slice(head);
  EXPECT_THAT(EndAfter("PutImages", grpc::ByteBuffer(&slice, 1)),
              StatusIs(kInvalid, HasSubstr("payload_bytes 4, but 3")));
  ExpectNothingArrived();
}

TEST_F(ExchangeServiceTest, OversizedMessagesAreRefusedUnread) {
  const grpc::Slice slice(std::string(1 << 20, 'x'));
  EXPECT_THAT(EndAfter("PutImages", grpc::ByteBuffer(&slice, 1)),
              StatusIs(absl::StatusCode::kResourceExhausted));
  ExpectNothingArrived();
}

TEST_F(ExchangeServiceTest, ImagesOutsideTheRunsScheduleAreRefused) {
  ImageBatch batch = Images(0, 0, 4);
  batch.format.width = 2;
  batch.pixels = SharedBytes(std::vector<std::byte>(8));
  EXPECT_THAT(
      EndAfter("PutImages", ExchangeCodec::Encode(Signed({.body = batch}))),
      StatusIs(kInvalid, HasSubstr("1x1x2 instead of 1x1x1")));
  batch = Images(0, 1, 4);
  EXPECT_THAT(
      EndAfter("PutImages", ExchangeCodec::Encode(Signed({.body = batch}))),
      StatusIs(kInvalid, HasSubstr("[0, 4)")));
  batch = Images(0, 0, 4, ImageUse::kBoth);
  EXPECT_THAT(
      EndAfter("PutImages", ExchangeCodec::Encode(Signed({.body = batch}))),
      StatusIs(kInvalid, HasSubstr("SNAPSHOT")));
  batch = Images(2, 0, 4);
  EXPECT_THAT(
      EndAfter("PutImages", ExchangeCodec::Encode(Signed({.body = batch}))),
      StatusIs(kPrecondition, HasSubstr("window of rounds [0, 1]")));
  ExpectNothingArrived();
}

TEST_F(ExchangeServiceTest, WrongKindsOfFramesAreRefused) {
  const grpc::ByteBuffer feedback = ExchangeCodec::Encode(
      Signed({.body = gandem::testing::Feedback(options_.schedule, 0, 0, 4)}));
  const grpc::ByteBuffer ack =
      ExchangeCodec::Encode(Signed({.body = AckFrame{.version = 3}}));
  EXPECT_THAT(EndAfter("PutImages", feedback), StatusIs(kInvalid));
  EXPECT_THAT(EndAfter("PutImages", ack), StatusIs(kInvalid));
  EXPECT_THAT(EndAfter("PutImages", ExchangeCodec::Encode(Open())),
              StatusIs(kInvalid));
  EXPECT_THAT(EndAfter("Feedback", feedback), StatusIs(kInvalid));
  EXPECT_THAT(EndAfter("FetchCritic", feedback), StatusIs(kInvalid));
  // The critic was never sent.
  EXPECT_THAT(EndAfter("FetchCritic", ack), StatusIs(kInvalid));
  ASSERT_OK(Hello(3, 8, 0));
  RawStream stream(channel_, "FetchCritic",
                   Signed({.body = OpenFrame{.version = 3}}));
  EXPECT_THAT(stream.Read(),
              StatusIs(kInvalid, HasSubstr("version 3 was never published")));
}

TEST_F(ExchangeServiceTest, ARepeatedBatchIsAcknowledgedAndIgnored) {
  {
    const auto stream = OpenStream("PutImages");
    ASSERT_TRUE(stream->Write(Signed({.body = Images(0, 0, 4)})));
    ASSERT_OK(stream->Read());
  }
  ASSERT_OK(discriminator_->TakeImages(0, 0, 4, Soon()));
  discriminator_->FinishRound(0);
  const auto stream = OpenStream("PutImages");
  ASSERT_TRUE(stream->Write(Signed({.body = Images(0, 0, 4)})));
  ASSERT_OK_AND_ASSIGN(const Frame answer, stream->Read());
  ASSERT_TRUE(std::holds_alternative<AckFrame>(answer.body));
  const AckFrame& ack = std::get<AckFrame>(answer.body);
  EXPECT_EQ(ack.round, 0);
  EXPECT_EQ(ack.count, 4);
  ExpectNothingArrived();
}

TEST_F(ExchangeServiceTest, ANewStreamEndsTheOldOne) {
  const auto old = OpenStream("PutImages");
  ASSERT_TRUE(old->Write(Signed({.body = Images(0, 0, 2)})));
  ASSERT_OK(old->Read());
  const auto stream = OpenStream("PutImages");
  ASSERT_TRUE(stream->Write(Signed({.body = Images(0, 2, 2)})));
  ASSERT_OK(stream->Read());
  const absl::StatusCode code = old->Read().status().code();
  EXPECT_TRUE(code == absl::StatusCode::kAborted ||
              code == absl::StatusCode::kCancelled)
      << code;
}

TEST_F(ExchangeServiceTest, AStreamThatWaitsForSpaceCanBeReplaced) {
  options_.cache_rounds = 1;
  Start();
  const auto old = OpenStream("PutImages");
  ASSERT_TRUE(old->Write(Signed({.body = Images(0, 0, 4)})));
  ASSERT_OK(old->Read());
  ASSERT_TRUE(old->Write(Signed({.body = Images(1, 0, 4)})));
  const auto stream = OpenStream("PutImages");
  ASSERT_TRUE(stream->Write(Signed({.body = Images(1, 0, 4)})));
  ASSERT_OK(discriminator_->TakeImages(0, 0, 4, Soon()));
  ASSERT_OK_AND_ASSIGN(const Frame ack, stream->Read());
  ASSERT_TRUE(std::holds_alternative<AckFrame>(ack.body));
  EXPECT_EQ(std::get<AckFrame>(ack.body).round, 1);
  EXPECT_EQ(discriminator_->stats().cache_images, 4);
}

TEST_F(ExchangeServiceTest, EachRankReceivesEachCriticOnce) {
  ASSERT_OK(Hello(3, 8, 1));
  const auto first = OpenStream("FetchCritic");
  RawStream second(channel_, "FetchCritic", Open(/*rank=*/1));
  ASSERT_OK(discriminator_->PublishCritic(gandem::testing::Critic(0), Soon()));
  const Frame ack = Signed({.body = AckFrame{.version = 0}});
  ASSERT_OK(first->Read());
  ASSERT_OK(second.Read());
  ASSERT_TRUE(first->Write(ack));
  // Rank 1 has not acknowledged.
  EXPECT_THAT(
      discriminator_->PublishCritic(gandem::testing::Critic(1),
                                    absl::Now() + absl::Milliseconds(20)),
      StatusIs(absl::StatusCode::kDeadlineExceeded));
  ASSERT_TRUE(second.Write(Signed(ack, /*rank=*/1)));
  EXPECT_OK(discriminator_->PublishCritic(gandem::testing::Critic(1), Soon()));
}

TEST_F(ExchangeServiceTest, AGeneratorHasFinishedWhenItsLastMessageArrives) {
  options_.num_generators = 1;
  Start();
  const auto stream = OpenStream("PutImages");
  ASSERT_TRUE(stream->Write(Signed({.body = FinishedFrame{}})));
  ASSERT_OK_AND_ASSIGN(const Frame answer, stream->Read());
  EXPECT_TRUE(std::holds_alternative<FinishedFrame>(answer.body));
  // The generator might lack the answer and call a stopped server.
  EXPECT_THAT(discriminator_->WaitForGenerators(absl::InfinitePast()),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  ASSERT_TRUE(stream->Write(Signed({.body = AckFrame{}})));
  EXPECT_OK(discriminator_->WaitForGenerators(Soon()));
  stream->Write(Signed({.body = Images(0, 0, 4)}));
  EXPECT_THAT(stream->Read(), StatusIs(kPrecondition, HasSubstr("finished")));
}

TEST_F(ExchangeServiceTest, AGeneratorWhoseLastMessageIsLostIsGivenUp) {
  options_.num_generators = 1;
  options_.finish_grace = absl::Milliseconds(5);
  Start();
  EXPECT_THAT(
      discriminator_->WaitForGenerators(absl::Now() + absl::Milliseconds(20)),
      StatusIs(absl::StatusCode::kDeadlineExceeded));
  const auto stream = OpenStream("PutImages");
  ASSERT_TRUE(stream->Write(Signed({.body = FinishedFrame{}})));
  EXPECT_OK(discriminator_->WaitForGenerators(Soon()));
}

TEST_F(ExchangeServiceTest, TheRunContinuesAfterRefusedCalls) {
  const grpc::Slice garbage(std::string(100, '\xff'));
  EXPECT_THAT(EndAfter("PutImages", grpc::ByteBuffer(&garbage, 1)),
              StatusIs(absl::StatusCode::kDataLoss));
  ExchangeOptions options = options_;
  options.incarnation = 8;
  ASSERT_OK_AND_ASSIGN(const auto generator,
                       CreateExchangeClient({.address = server_->address(),
                                             .exchange = options}));
  ASSERT_OK(generator->PutImages(Images(0, 0, 4), Soon()));
  EXPECT_OK(discriminator_->TakeImages(0, 0, 4, Soon()));
}

TEST_F(ExchangeServiceTest, ClosingTheEndEndsTheStreams) {
  const auto images = OpenStream("PutImages");
  ASSERT_TRUE(images->Write(Signed({.body = Images(0, 0, 4)})));
  ASSERT_OK(images->Read());
  discriminator_->Close(absl::InternalError("secret"));
  const absl::Status status = images->Read().status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(std::string(status.message()),
              ::testing::Not(HasSubstr("secret")));
}

TEST_F(ExchangeServiceTest, AnAddressInUseIsAnError) {
  EXPECT_THAT(ExchangeServer::Start(
                  {.address = server_->address(), .exchange = options_},
                  discriminator_.get()),
              StatusIs(absl::StatusCode::kAlreadyExists));
}

}  // namespace
}  // namespace gandem
