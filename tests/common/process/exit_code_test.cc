// SPDX-License-Identifier: Apache-2.0
#include "common/process/exit_code.h"

#include <gtest/gtest.h>

namespace gandem {
namespace {

TEST(ExitCodeTest, NumbersAreFrozen) {
  EXPECT_EQ(kExitOk, 0);
  EXPECT_EQ(kExitUsage, 2);
  EXPECT_EQ(kExitInternal, 70);
  EXPECT_EQ(kExitResumable, 75);
}

TEST(ExitCodeTest, TheExitCodeFollowsTheStatusCode) {
  const struct {
    absl::StatusCode code;
    ExitCode exit_code;
  } kExpected[] = {
      {absl::StatusCode::kOk, kExitOk},
      {absl::StatusCode::kCancelled, kExitResumable},
      {absl::StatusCode::kAborted, kExitResumable},
      {absl::StatusCode::kUnavailable, kExitResumable},
      {absl::StatusCode::kDeadlineExceeded, kExitResumable},
      {absl::StatusCode::kInvalidArgument, kExitUsage},
      {absl::StatusCode::kNotFound, kExitUsage},
      {absl::StatusCode::kAlreadyExists, kExitUsage},
      {absl::StatusCode::kPermissionDenied, kExitUsage},
      {absl::StatusCode::kUnauthenticated, kExitUsage},
      {absl::StatusCode::kFailedPrecondition, kExitUsage},
      {absl::StatusCode::kOutOfRange, kExitDiverged},
      {absl::StatusCode::kUnimplemented, kExitUsage},
      {absl::StatusCode::kDataLoss, kExitUsage},
      {absl::StatusCode::kResourceExhausted, kExitInternal},
      {absl::StatusCode::kInternal, kExitInternal},
      {absl::StatusCode::kUnknown, kExitInternal},
  };
  for (const auto& expected : kExpected) {
    EXPECT_EQ(ExitCodeOf(absl::Status(expected.code, "message")),
              expected.exit_code)
        << absl::StatusCodeToString(expected.code);
    if (expected.code == absl::StatusCode::kDataLoss) continue;
    EXPECT_EQ(WorkerExitCodeOf(absl::Status(expected.code, "message")),
              expected.exit_code);
  }
  EXPECT_EQ(WorkerExitCodeOf(absl::DataLossError("message")), kExitDamaged);
}

}  // namespace
}  // namespace gandem
