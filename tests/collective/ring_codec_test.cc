// SPDX-License-Identifier: Apache-2.0
#include "collective/ring_codec.h"

#include <gtest/gtest.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/wire_header.h"
#include "proto/collective.pb.h"
#include "tests/testing/status_matchers.h"

namespace gandem::testing {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMaxBytes = 1 << 20;

SharedBytes ToBytes(const std::string& text) {
  return SharedBytes::Copy(std::as_bytes(std::span(text)));
}

RingFrame AChunk() {
  return {.kind = RingFrameKind::kChunk,
          .membership_epoch = 3,
          .incarnation = 44,
          .rank = 2,
          .number = 7,
          .chunk = {.tag = {.number = 9,
                            .kind = OperationKind::kBroadcast,
                            .type = ElementType::kFloat16,
                            .root = 1,
                            .bytes = 1000},
                    .offset = 640,
                    .crc32c = 0xfedcba98,
                    .payload = {ToBytes("payload!")}}};
}

std::string Encode(const RingFrame& frame) {
  std::string text = EncodeRingHead(frame);
  for (const SharedBytes& piece : frame.chunk.payload) {
    text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  return text;
}

absl::StatusOr<RingFrame> Decode(const std::string& text) {
  const SharedBytes bytes = ToBytes(text);
  return DecodeRingFrame({&bytes, 1}, kMaxBytes);
}

TEST(RingCodecTest, ChunksAreDecodedFromPiecesOfAnySize) {
  const RingFrame frame = AChunk();
  const std::string text = Encode(frame);
  for (size_t size = 1; size <= text.size(); ++size) {
    std::vector<SharedBytes> pieces;
    for (size_t at = 0; at < text.size(); at += size) {
      pieces.push_back(ToBytes(text.substr(at, size)));
    }
    ASSERT_OK_AND_ASSIGN(const RingFrame read,
                         DecodeRingFrame(pieces, kMaxBytes));
    EXPECT_EQ(read.kind, frame.kind);
    EXPECT_EQ(read.membership_epoch, 3);
    EXPECT_EQ(read.incarnation, 44);
    EXPECT_EQ(read.rank, 2);
    EXPECT_EQ(read.number, 7);
    EXPECT_EQ(read.chunk.tag, frame.chunk.tag);
    EXPECT_EQ(read.chunk.offset, 640);
    EXPECT_EQ(read.chunk.crc32c, 0xfedcba98);
    std::string payload;
    for (const SharedBytes& piece : read.chunk.payload) {
      payload.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    }
    EXPECT_EQ(payload, "payload!");
  }
}

TEST(RingCodecTest, OpenAndAbortMessagesAreDecoded) {
  ASSERT_OK_AND_ASSIGN(const RingFrame open,
                       Decode(Encode({.kind = RingFrameKind::kOpen,
                                      .rank = 1,
                                      .to = 2,
                                      .fleet_size = 5})));
  EXPECT_EQ(open.to, 2);
  EXPECT_EQ(open.fleet_size, 5);
  // A reason may have any bytes, and a long one is truncated.
  const std::string reason = "\xff\xfe" + std::string(5000, 'x');
  ASSERT_OK_AND_ASSIGN(const RingFrame abort,
                       Decode(Encode({.kind = RingFrameKind::kAbort,
                                      .origin = 4,
                                      .reason = absl::DataLossError(reason)})));
  EXPECT_EQ(abort.origin, 4);
  EXPECT_EQ(abort.reason,
            absl::DataLossError("\\xff\\xfe" + std::string(1989, 'x') + "..."));
}

TEST(RingCodecTest, SharedMemoryMessagesAreDecoded) {
  const SharedSlotsName name = {.process = 77,
                                .descriptor = 5,
                                .token = 0xfedcba9876543210,
                                .slot_bytes = 1 << 20,
                                .num_slots = 9};
  ASSERT_OK_AND_ASSIGN(
      const RingFrame open,
      Decode(Encode({.kind = RingFrameKind::kOpen, .shared_memory = name})));
  EXPECT_EQ(open.shared_memory, name);
  RingFrame frame = AChunk();
  frame.chunk.payload.clear();
  frame.shared_slot = 0;
  frame.shared_bytes = 123456;
  ASSERT_OK_AND_ASSIGN(const RingFrame read, Decode(Encode(frame)));
  EXPECT_EQ(read.shared_slot, 0);
  EXPECT_EQ(read.shared_bytes, 123456);
  EXPECT_EQ(read.chunk.crc32c, 0xfedcba98);
  EXPECT_FALSE(read.shared_memory.has_value());
  EXPECT_TRUE(read.chunk.payload.empty());
  // A payload is either in the message or in shared memory.
  EXPECT_THAT(Decode(Encode(frame) + "1234"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("in shared memory, but 4 bytes follow")));
}

TEST(RingCodecTest, ShortAndLongMessagesAreRefused) {
  const std::string text = Encode(AChunk());
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(Decode(text.substr(0, size)).ok()) << size;
  }
  EXPECT_THAT(Decode(text + "x"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("payload_bytes 8, but 9 bytes follow")));
  const SharedBytes large(std::vector<std::byte>(kMaxBytes + 1));
  EXPECT_THAT(
      DecodeRingFrame({&large, 1}, kMaxBytes),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("larger than")));
  EXPECT_THAT(Decode(std::string("\xff\xff\xff\xff\0\0\0\0", 8)),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("header size 4294967295")));
}

TEST(RingCodecTest, ImpossibleFieldsAreRefused) {
  const std::vector<std::function<void(RingHeader&)>> changes = {
      [](RingHeader& header) { header.set_kind(RING_UNKNOWN); },
      [](RingHeader& header) { header.set_kind(static_cast<RingKind>(99)); },
      [](RingHeader& header) { header.set_operation(RING_OPERATION_UNKNOWN); },
      [](RingHeader& header) {
        header.set_element(static_cast<RingElement>(9));
      },
      [](RingHeader& header) { header.set_rank(-1); },
      [](RingHeader& header) { header.set_membership_epoch(-1); },
      [](RingHeader& header) { header.set_incarnation(-1); },
      [](RingHeader& header) { header.set_number(-5); },
      [](RingHeader& header) { header.set_offset(-8); },
      [](RingHeader& header) { header.set_operation_bytes(-8); },
      [](RingHeader& header) { header.set_root(-1); },
      [](RingHeader& header) { header.set_shared_slot(-1); },
      [](RingHeader& header) { header.set_kind(RING_GOODBYE); },
      [](RingHeader& header) {
        header.set_kind(RING_ABORT);
        header.set_code(1);
      }};
  for (size_t i = 0; i < changes.size(); ++i) {
    RingHeader header;
    header.set_kind(RING_CHUNK);
    header.set_operation(RING_ALL_REDUCE);
    header.set_payload_bytes(4);
    const auto encode = [&] {
      const std::string body = header.SerializeAsString();
      return WirePrefix(body) + body + "1234";
    };
    EXPECT_OK(Decode(encode()));
    changes[i](header);
    EXPECT_THAT(Decode(encode()), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("malformed")))
        << i;
  }
  EXPECT_THAT(Decode(Encode({.kind = RingFrameKind::kAbort})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("code")));
}

}  // namespace
}  // namespace gandem::testing
