// SPDX-License-Identifier: Apache-2.0
#include "common/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/cord.h"
#include "common/check.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::IsOk;
using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(StatusTest, AnnotateKeepsCodeAndPayloads) {
  absl::Status status = absl::NotFoundError("no such file");
  status.SetPayload("url", absl::Cord("payload"));
  const absl::Status annotated = Annotate(status, "run.textproto");
  EXPECT_THAT(annotated, StatusIs(absl::StatusCode::kNotFound,
                                  "run.textproto: no such file"));
  EXPECT_EQ(annotated.GetPayload("url"), absl::Cord("payload"));
  EXPECT_OK(Annotate(absl::OkStatus(), "prefix"));
}

absl::StatusOr<std::unique_ptr<int>> Make(int value) {
  if (value < 0) return absl::OutOfRangeError("negative");
  return std::make_unique<int>(value);
}

absl::StatusOr<int> Sum(int a, int b) {
  GANDEM_ASSIGN_OR_RETURN(const std::unique_ptr<int> first, Make(a));
  std::unique_ptr<int> second;
  GANDEM_ASSIGN_OR_RETURN(second, Make(b));
  return *first + *second;
}

TEST(StatusTest, AssignOrReturnMovesTheValueOrReturns) {
  ASSERT_OK_AND_ASSIGN(const int sum, Sum(1, 2));
  EXPECT_EQ(sum, 3);
  EXPECT_THAT(Sum(-1, 2), StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(Sum(1, -2), StatusIs(absl::StatusCode::kOutOfRange));
}

absl::Status First(const absl::Status& a, const absl::StatusOr<int>& b,
                   int* passed) {
  GANDEM_RETURN_IF_ERROR(a);
  ++*passed;
  GANDEM_RETURN_IF_ERROR(b);
  ++*passed;
  GANDEM_RETURN_IF_ERROR(Sum(1, 1));
  return absl::OkStatus();
}

TEST(StatusTest, ReturnIfErrorReturnsTheFirstError) {
  int passed = 0;
  EXPECT_THAT(First(absl::AbortedError("a"), absl::InternalError("b"), &passed),
              StatusIs(absl::StatusCode::kAborted, "a"));
  EXPECT_EQ(passed, 0);
  EXPECT_THAT(First(absl::OkStatus(), absl::InternalError("b"), &passed),
              StatusIs(absl::StatusCode::kInternal, "b"));
  EXPECT_EQ(passed, 1);
  EXPECT_OK(First(absl::OkStatus(), 1, &passed));
  EXPECT_EQ(passed, 3);
}

TEST(StatusTest, MatchersCompareCodeAndMessage) {
  const absl::Status status = absl::NotFoundError("no such file");
  EXPECT_THAT(status, Not(IsOk()));
  EXPECT_THAT(absl::OkStatus(), IsOk());
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, HasSubstr("file")));
  EXPECT_THAT(status,
              Not(StatusIs(absl::StatusCode::kNotFound, HasSubstr("door"))));
  EXPECT_THAT(status, Not(StatusIs(absl::StatusCode::kAborted)));
  EXPECT_THAT(absl::StatusOr<int>(status),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST(CheckDeathTest, AbortsWithFileLineAndText) {
  const int zero = 0;
  GANDEM_CHECK(zero == 0);
  EXPECT_DEATH(GANDEM_CHECK(zero == 1),
               "status_test.cc:[0-9]+: check failed: zero == 1");
  GANDEM_CHECK_OK(absl::OkStatus());
  EXPECT_DEATH(GANDEM_CHECK_OK(absl::AbortedError("why")),
               "status_test.cc:[0-9]+: check failed: ABORTED: why");
}

}  // namespace
}  // namespace gandem
