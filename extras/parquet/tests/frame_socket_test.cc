// SPDX-License-Identifier: Apache-2.0
#include "extras/parquet/frame_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "extras/parquet/tests/data_peer.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::MakeSocketEnds;
using ::gandem::testing::SocketEnds;
using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

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
};

TEST_F(FrameSocketTest, AFrameWithAPayload) {
  ASSERT_OK(theirs_->Send({.kind = FrameKind::kBytes}, "abc"));
  ASSERT_OK_AND_ASSIGN(const auto received, ours_.Receive());
  EXPECT_EQ(received.frame.kind, FrameKind::kBytes);
  EXPECT_EQ(received.payload, "abc");
}

TEST_F(FrameSocketTest, TheOtherEndIsGone) {
  ASSERT_EQ(write(theirs_fd_, "half a frame", 12), 12);
  theirs_ = nullptr;
  EXPECT_THAT(ours_.Receive(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(ours_.Send({}), StatusIs(absl::StatusCode::kUnavailable));
}

TEST(FrameSocketSilenceTest, SilenceHasALimit) {
  SocketEnds ends = MakeSocketEnds();
  FrameSocket ours(std::move(ends.ours), absl::Milliseconds(1));
  EXPECT_THAT(ours.Receive(), StatusIs(absl::StatusCode::kDeadlineExceeded));
  // Bytes that do not fit into the socket's buffer wait for a reader.
  const std::string much(size_t{16} << 20, 'x');
  EXPECT_THAT(ours.Send({.kind = FrameKind::kBytes}, much),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(FrameSocketTest, LargePayloads) {
  const std::string much(size_t{20} << 20, 'x');
  Thread writer("writer", [&] {
    EXPECT_OK(theirs_->Send({.kind = FrameKind::kBytes}, much));
  });
  ASSERT_OK_AND_ASSIGN(const auto received, ours_.Receive());
  EXPECT_TRUE(received.payload == much);
}

TEST_F(FrameSocketTest, NoiseIsRejected) {
  const std::string noise(kDataFrameBytes, 'x');
  ASSERT_EQ(write(theirs_fd_, noise.data(), noise.size()), std::ssize(noise));
  EXPECT_THAT(ours_.Receive(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not a frame")));
}

}  // namespace
}  // namespace gandem
