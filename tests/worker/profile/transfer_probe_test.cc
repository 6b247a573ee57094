// SPDX-License-Identifier: Apache-2.0
//
// Both ends of a transfer in two threads.
#include "worker/profile/transfer_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "common/monotonic_time.h"
#include "common/process/thread.h"
#include "common/rpc/socket_folder.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_credentials.h"

namespace gandem {
namespace {

using gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr absl::Duration kBound = absl::Seconds(60);

class TransferProbeTest : public ::testing::Test {
 protected:
  TransferProbeTest() { gandem::testing::UseTestCredentials(); }

  TransferRequest Request(TransferProfile::Kind kind) const {
    TransferRequest request;
    request.set_kind(kind);
    request.set_repetitions(3);
    request.add_bytes(4096);
    request.add_bytes(1 << 20);
    request.add_addresses(sockets_->AddressOf("a"));
    request.add_addresses(sockets_->AddressOf("b"));
    return request;
  }

  const std::unique_ptr<SocketFolder> sockets_ = *SocketFolder::Create();
};

class TransferKindTest
    : public TransferProbeTest,
      public ::testing::WithParamInterface<TransferProfile::Kind> {};

TEST_P(TransferKindTest, BothEndsMeasureTheSameSizes) {
  TransferRequest request = Request(GetParam());
  absl::StatusOr<TransferReply> received;
  Thread receiver("receiver", [&, request]() mutable {
    request.set_rank(0);
    received = MeasureTransfer(request, MonotonicNow() + kBound);
  });
  request.set_rank(1);
  const auto sent = MeasureTransfer(request, MonotonicNow() + kBound);
  receiver.Join();
  ASSERT_OK(sent);
  ASSERT_OK(received);
  for (const TransferReply& reply : {*sent, *received}) {
    ASSERT_EQ(reply.samples_size(), 2);
    EXPECT_EQ(reply.samples(0).bytes(), 4096);
    EXPECT_EQ(reply.samples(1).bytes(), 1 << 20);
    for (const TransferReply::Sample& sample : reply.samples()) {
      EXPECT_GT(sample.seconds(), 0);
      EXPECT_GE(sample.compute_seconds(), 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, TransferKindTest,
                         ::testing::Values(TransferProfile::EXCHANGE_SOCKET,
                                           TransferProfile::COLLECTIVE_MEMORY,
                                           TransferProfile::COLLECTIVE_TCP),
                         [](const auto& info) {
                           return TransferProfile::Kind_Name(info.param);
                         });

TEST_F(TransferProbeTest, AnImpossibleTransferIsRefused) {
  TransferRequest request = Request(TransferProfile::EXCHANGE_MEMORY);
  request.set_rank(0);
  EXPECT_THAT(MeasureTransfer(request, MonotonicNow()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("EXCHANGE_MEMORY")));
  request = Request(TransferProfile::EXCHANGE_SOCKET);
  request.set_rank(2);
  request.set_repetitions(0);
  request.add_bytes(-1);
  EXPECT_THAT(MeasureTransfer(request, MonotonicNow()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("rank"), HasSubstr("repetitions"),
                             HasSubstr("bytes"))));
}

TEST_F(TransferProbeTest, WaitingForAMissingPeerEndsAtTheDeadline) {
  TransferRequest request = Request(TransferProfile::COLLECTIVE_MEMORY);
  request.set_rank(0);
  EXPECT_THAT(MeasureTransfer(request, absl::InfinitePast()),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("")));
}

}  // namespace
}  // namespace gandem
