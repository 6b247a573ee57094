// SPDX-License-Identifier: Apache-2.0
#include "extras/parquet/frame_socket.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>

#include "extras/parquet/tests/data_peer.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::MakeSocketEnds;
using ::gandem::testing::SocketEnds;
using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

OwnedFd MemoryFd(absl::string_view bytes, int seals) {
  OwnedFd file(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(write(file.get(), bytes.data(), bytes.size()), std::ssize(bytes));
  EXPECT_EQ(fcntl(file.get(), F_ADD_SEALS, seals), 0);
  return file;
}

class FrameSocketTest : public ::testing::Test {
 protected:
  FrameSocketTest() : FrameSocketTest(MakeSocketEnds()) {}
  explicit FrameSocketTest(SocketEnds ends)
      : theirs_fd_(ends.theirs.get()),
        ours_(std::move(ends.ours)),
        theirs_(std::make_unique<FrameSocket>(std::move(ends.theirs))) {}

  const int theirs_fd_;
  FrameSocket ours_;
  std::unique_ptr<FrameSocket> theirs_;
  Patience patience_ = {.left = absl::Minutes(1)};
};

TEST_F(FrameSocketTest, AFrameWithBytesBehindIt) {
  ASSERT_OK(theirs_->Send({.kind = FrameKind::kBytes, .payload_bytes = 3},
                          "abc", -1, patience_));
  ASSERT_OK_AND_ASSIGN(const auto received, ours_.Receive(patience_));
  EXPECT_EQ(received.frame.kind, FrameKind::kBytes);
  EXPECT_EQ(received.file.get(), -1);
  EXPECT_EQ(*ours_.ReceivePayload(3, patience_), "abc");
}

TEST_F(FrameSocketTest, AFileGoesAlong) {
  const std::array<absl::string_view, 3> pieces = {"ab", "", "cd"};
  ASSERT_OK_AND_ASSIGN(const OwnedFd file, SealedFile(pieces));
  EXPECT_EQ(*SizeOf(file), 4);
  ASSERT_OK(theirs_->Send({.kind = FrameKind::kImages, .payload_bytes = 4}, "",
                          file.get(), patience_));
  ASSERT_OK_AND_ASSIGN(const auto received, ours_.Receive(patience_));
  ASSERT_NE(received.file.get(), -1);
  EXPECT_NE(received.file.get(), file.get());
  ASSERT_OK_AND_ASSIGN(const SealedBytes bytes,
                       SealedBytes::Map(received.file, 4));
  EXPECT_EQ(bytes.bytes(), "abcd");
  // Nobody can change what was mapped.
  EXPECT_EQ(write(file.get(), "x", 1), -1);
  EXPECT_EQ(ftruncate(file.get(), 0), -1);
}

TEST_F(FrameSocketTest, FilesThatAreNotAsPromised) {
  constexpr int kSeals =
      F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  EXPECT_THAT(SealedBytes::Map(MemoryFd("abcd", kSeals), 5),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("4 bytes where 5 were promised")));
  // Each seal counts: without it somebody could cut the file under our feet.
  for (const int seal : {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE}) {
    EXPECT_THAT(SealedBytes::Map(MemoryFd("abcd", kSeals & ~seal), 4),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not sealed")));
  }
  EXPECT_THAT(SealedBytes::Map(OwnedFd(), 4),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not sealed")));
  EXPECT_EQ(SealedBytes::Map(MemoryFd("", kSeals), 0)->bytes(), "");
}

TEST_F(FrameSocketTest, TheOtherEndIsGone) {
  ASSERT_EQ(write(theirs_fd_, "half a frame", 12), 12);
  theirs_ = nullptr;
  EXPECT_THAT(ours_.Receive(patience_),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(ours_.ReceivePayload(1, patience_),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(ours_.Send({}, "", -1, patience_),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(FrameSocketTest, PatienceEnds) {
  Patience none = {.left = absl::ZeroDuration()};
  EXPECT_THAT(ours_.Receive(none),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_THAT(ours_.ReceivePayload(1, none),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  // What does not fit into the socket waits for a reader.
  const std::string much(size_t{16} << 20, 'x');
  EXPECT_THAT(
      ours_.Send({.kind = FrameKind::kBytes, .payload_bytes = std::ssize(much)},
                 much, -1, none),
      StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(FrameSocketTest, MuchIsReadWhileItIsWritten) {
  const std::string much(size_t{20} << 20, 'x');
  Thread writer("writer", [&] {
    Patience patience = {.left = absl::Minutes(1)};
    EXPECT_OK(theirs_->Send(
        {.kind = FrameKind::kBytes, .payload_bytes = std::ssize(much)}, much,
        -1, patience));
  });
  ASSERT_OK(ours_.Receive(patience_).status());
  ASSERT_OK_AND_ASSIGN(const std::string bytes,
                       ours_.ReceivePayload(std::ssize(much), patience_));
  EXPECT_TRUE(bytes == much);
}

TEST_F(FrameSocketTest, WhatIsNoFrame) {
  const std::string noise(kDataFrameBytes, 'x');
  ASSERT_EQ(write(theirs_fd_, noise.data(), noise.size()), std::ssize(noise));
  EXPECT_THAT(ours_.Receive(patience_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no frame")));
}

}  // namespace
}  // namespace gandem
