// SPDX-License-Identifier: Apache-2.0
#include "exchange/wire_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "common/crc32c.h"
#include "common/wire_header.h"
#include "proto/exchange.pb.h"
#include "tests/exchange/exchange_testing.h"
#include "tests/testing/soon.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::StatusIs;
using ::testing::HasSubstr;
constexpr int64_t kNoLimit = 1 << 20;
constexpr auto kDamaged = absl::StatusCode::kDataLoss;

std::string Text(std::span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::string Message(const Frame& frame) {
  return EncodeFrameHead(frame) + Text(PayloadOf(frame.body).span());
}

absl::StatusOr<Frame> Decode(const std::string& message,
                             size_t piece_bytes = 1 << 20,
                             int64_t max_bytes = kNoLimit) {
  const SharedBytes bytes =
      SharedBytes::Copy(std::as_bytes(std::span(message)));
  std::vector<SharedBytes> pieces;
  for (size_t at = 0; at < bytes.size(); at += piece_bytes) {
    pieces.push_back(bytes.Slice(at, std::min(piece_bytes, bytes.size() - at)));
    pieces.push_back({});  // gRPC may deliver empty slices
  }
  return DecodeFrame(pieces, max_bytes);
}

// Returns an encoded message with a changed header.
std::string Forged(const Frame& frame,
                   const std::function<void(TensorHeader&)>& change) {
  const std::string head = EncodeFrameHead(frame);
  TensorHeader header;
  EXPECT_TRUE(header.ParseFromString(head.substr(kWirePrefixBytes)));
  change(header);
  const std::string bytes = header.SerializeAsString();
  return WirePrefix(bytes) + bytes + Text(PayloadOf(frame.body).span());
}

Frame SomeImages() {
  ImageBatch batch = gandem::testing::Images(7, 2, 6, ImageUse::kBoth);
  batch.format = {.encoding = Encoding::kBfloat16,
                  .layout = Layout::kChannelsLast,
                  .channels = 3,
                  .height = 5,
                  .width = 4};
  std::vector<std::byte> pixels(6 * 120);
  for (size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<std::byte>(i % 251);
  }
  batch.pixels = SharedBytes(std::move(pixels));
  return {.sender = {.run_epoch = 3, .incarnation = 9, .rank = 1},
          .body = batch};
}

TEST(WireCodecTest, ImagesAreDecodedHoweverTheMessageIsCut) {
  const Frame frame = SomeImages();
  for (size_t piece_bytes : {1, 3, 64, 500, 100000}) {
    ASSERT_OK_AND_ASSIGN(const Frame out, Decode(Message(frame), piece_bytes));
    EXPECT_EQ(out.sender, frame.sender);
    ASSERT_TRUE(std::holds_alternative<ImageBatch>(out.body));
    const ImageBatch& batch = std::get<ImageBatch>(out.body);
    EXPECT_EQ(batch.use, ImageUse::kBoth);
    EXPECT_EQ(batch.round, 7);
    EXPECT_EQ(batch.first_index, 2);
    EXPECT_EQ(batch.count, 6);
    EXPECT_EQ(batch.generator_version, 7);
    EXPECT_EQ(batch.format, std::get<ImageBatch>(frame.body).format);
    EXPECT_EQ(Text(batch.pixels.span()), Text(PayloadOf(frame.body).span()));
    EXPECT_EQ(
        reinterpret_cast<uintptr_t>(batch.pixels.data()) % kPayloadAlignment,
        0u);
  }
}

TEST(WireCodecTest, FeedbackIsDecoded) {
  const FeedbackBatch batch = gandem::testing::Feedback(
      {.generator_batch = 8, .discriminator_batch = 8}, 3, 4, 2);
  ASSERT_OK_AND_ASSIGN(const Frame out, Decode(Message({.body = batch})));
  ASSERT_TRUE(std::holds_alternative<FeedbackBatch>(out.body));
  const FeedbackBatch& back = std::get<FeedbackBatch>(out.body);
  EXPECT_EQ(back.round, 3);
  EXPECT_EQ(back.first_index, 4);
  EXPECT_EQ(back.count, 2);
  EXPECT_EQ(back.critic_version, 3);
  EXPECT_EQ(back.loss, 0.5);
  EXPECT_EQ(back.format, batch.format);
  EXPECT_EQ(Text(back.gradient.span()), Text(batch.gradient.span()));
}

TEST(WireCodecTest, CriticsAreDecoded) {
  ASSERT_OK_AND_ASSIGN(
      const Frame out,
      Decode(Message({.body = gandem::testing::Critic(12, 77)})));
  ASSERT_TRUE(std::holds_alternative<CriticState>(out.body));
  const CriticState& critic = std::get<CriticState>(out.body);
  EXPECT_EQ(critic.version, 12);
  EXPECT_EQ(critic.bytes.size(), 77u);
}

TEST(WireCodecTest, FramesWithoutPayloadAreDecoded) {
  ASSERT_OK_AND_ASSIGN(const Frame open,
                       Decode(Message({.body = OpenFrame{.version = -1}})));
  ASSERT_TRUE(std::holds_alternative<OpenFrame>(open.body));
  EXPECT_EQ(std::get<OpenFrame>(open.body).version, -1);
  ASSERT_OK_AND_ASSIGN(
      const Frame answer,
      Decode(Message({.body = AckFrame{.use = ImageUse::kFeedback,
                                       .round = 1,
                                       .first_index = 2,
                                       .count = 3}})));
  ASSERT_TRUE(std::holds_alternative<AckFrame>(answer.body));
  const AckFrame& ack = std::get<AckFrame>(answer.body);
  EXPECT_EQ(ack.use, ImageUse::kFeedback);
  EXPECT_EQ(ack.count, 3);
  ASSERT_OK_AND_ASSIGN(const Frame finished,
                       Decode(Message({.body = FinishedFrame{}})));
  EXPECT_TRUE(std::holds_alternative<FinishedFrame>(finished.body));
}

TEST(WireCodecTest, EveryTruncationIsRefused) {
  const std::string message = Message(SomeImages());
  for (size_t size = 0; size < message.size(); ++size) {
    EXPECT_FALSE(Decode(message.substr(0, size)).ok()) << size;
  }
  EXPECT_THAT(Decode(message + "x"),
              StatusIs(kInvalid, HasSubstr("payload_bytes 720, but 721")));
}

// Covers the header with its numbers of rounds and images.
TEST(WireCodecTest, EveryChangedBitIsDetected) {
  const std::string message = Message(SomeImages());
  for (size_t at = 0; at < message.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = message;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      EXPECT_THAT(Decode(changed), StatusIs(kDamaged)) << at << ", " << bit;
    }
  }
}

TEST(WireCodecTest, OversizedMessagesAreRefused) {
  const std::string message = Message(SomeImages());
  const int64_t size = message.size();
  EXPECT_OK(Decode(message, 64, size));
  EXPECT_THAT(Decode(message, 64, size - 1),
              StatusIs(kInvalid, HasSubstr("max_message_bytes")));
}

TEST(WireCodecTest, HeaderSizeIsLimited) {
  std::string message(5000, '\0');
  message[0] = 1;
  message[1] = 2;  // 513
  EXPECT_THAT(Decode(message),
              StatusIs(kDamaged, HasSubstr("header size 513")));
  message[3] = '\x80';
  EXPECT_THAT(Decode(message),
              StatusIs(kDamaged, HasSubstr("header size 2147484161")));
  EXPECT_THAT(Decode(WirePrefix("\xff\xff\xff") + "\xff\xff\xff"),
              StatusIs(kInvalid, HasSubstr("not a TensorHeader")));
}

TEST(WireCodecTest, ForgedHeadersAreRefused) {
  const std::pair<const char*, std::function<void(TensorHeader&)>> cases[] = {
      {"kind", [](TensorHeader& h) { h.set_kind(FRAME_UNKNOWN); }},
      {"kind", [](TensorHeader& h) { h.set_kind(WireFrameKind(99)); }},
      {"use", [](TensorHeader& h) { h.set_use(USE_UNKNOWN); }},
      {"use", [](TensorHeader& h) { h.set_use(WireUse(9)); }},
      {"encoding", [](TensorHeader& h) { h.set_encoding(WIRE_BYTES); }},
      {"encoding", [](TensorHeader& h) { h.set_encoding(WireEncoding(9)); }},
      {"layout", [](TensorHeader& h) { h.set_layout(WireLayout(9)); }},
      {"round", [](TensorHeader& h) { h.set_round(-1); }},
      {"first_index", [](TensorHeader& h) { h.set_first_index(-1); }},
      {"count", [](TensorHeader& h) { h.set_count(-6); }},
      {"count", [](TensorHeader& h) { h.set_count(5); }},
      {"version", [](TensorHeader& h) { h.set_version(-1); }},
      {"rank", [](TensorHeader& h) { h.set_rank(-1); }},
      {"run_epoch", [](TensorHeader& h) { h.set_run_epoch(-1); }},
      {"incarnation", [](TensorHeader& h) { h.set_incarnation(-1); }},
      {"payload_bytes", [](TensorHeader& h) { h.set_payload_bytes(-1); }},
      {"payload_bytes", [](TensorHeader& h) { h.set_payload_bytes(719); }},
      {"shape", [](TensorHeader& h) { h.clear_shape(); }},
      {"shape", [](TensorHeader& h) { h.add_shape(1); }},
      {"shape", [](TensorHeader& h) { h.set_shape(1, 4); }},
      {"shape", [](TensorHeader& h) { h.set_shape(1, 0); }},
      {"shape",
       [](TensorHeader& h) {
         h.set_shape(0, -6);
         h.set_shape(1, -3);
       }},
      // These products overflow to the right size.
      {"shape",
       [](TensorHeader& h) {
         h.set_shape(1, int64_t{1} << 32);
         h.set_shape(2, int64_t{1} << 32);
       }},
  };
  for (const auto& [field, change] : cases) {
    EXPECT_THAT(Decode(Forged(SomeImages(), change)),
                StatusIs(kInvalid, HasSubstr(field)));
  }
  const Frame critic = {.body = gandem::testing::Critic(1, 8)};
  EXPECT_THAT(
      Decode(Forged(critic, [](TensorHeader& h) { h.set_shape(0, 9); })),
      StatusIs(kInvalid, HasSubstr("critic")));
  EXPECT_THAT(
      Decode(Forged(critic, [](TensorHeader& h) { h.set_kind(FRAME_ACK); })),
      StatusIs(kInvalid, HasSubstr("payload")));
}

}  // namespace
}  // namespace gandem
