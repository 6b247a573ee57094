// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/rpc/grpc_status.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;

ErrorDetail Superseded() {
  ErrorDetail detail;
  detail.set_reason("superseded");
  detail.set_retryable(true);
  return detail;
}

TEST(GrpcStatusTest, CodesMapOneToOne) {
  EXPECT_OK(FromGrpcStatus(ToGrpcStatus(absl::OkStatus())));
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "why");
    const grpc::Status over_the_wire = ToGrpcStatus(status);
    EXPECT_EQ(over_the_wire.error_code(), code);
    EXPECT_EQ(FromGrpcStatus(over_the_wire), status);
  }
  EXPECT_EQ(ToGrpcStatus(absl::AbortedError("")).error_code(),
            grpc::StatusCode::ABORTED);
  EXPECT_EQ(ToGrpcStatus(absl::UnauthenticatedError("")).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
}

TEST(GrpcStatusTest, DetailsAreTransmitted) {
  const absl::Status status = FromGrpcStatus(ToGrpcStatus(
      WithErrorDetail(absl::AbortedError("newer incarnation"), Superseded())));
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kAborted, "newer incarnation"));
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason(), "superseded");
  EXPECT_TRUE(detail->retryable());
}

TEST(GrpcStatusTest, InvalidOrMissingDetailsAreIgnored) {
  EXPECT_FALSE(GetErrorDetail(absl::AbortedError("a")).has_value());
  const absl::Status status = FromGrpcStatus(
      grpc::Status(grpc::StatusCode::ABORTED, "a", "\xff\xff\xff"));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kAborted, "a"));
  EXPECT_FALSE(GetErrorDetail(status).has_value());
}

TEST(GrpcStatusTest, LongMessagesAreTruncated) {
  const std::string text(10'000, 'x');
  EXPECT_EQ(ToGrpcStatus(absl::InternalError(text)).error_message(),
            std::string(2000, 'x') + "...");
}

}  // namespace
}  // namespace gandem
