// SPDX-License-Identifier: Apache-2.0
#include "worker/epoch_failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

TEST(EpochFailureTest, AMissingFileIsRetried) {
  for (const absl::Status& gone : {absl::NotFoundError("no images"),
                                   absl::PermissionDeniedError("no images")}) {
    for (const EpochPast& past :
         {EpochPast{.has_begun = true}, EpochPast{.is_first = false}}) {
      EXPECT_THAT(
          JudgeFailure(gone, past),
          StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no images")));
    }
    EXPECT_EQ(JudgeFailure(gone, {}), gone);
  }
}

TEST(EpochFailureTest, AFileDamagedAtTheStartIsNotRetried) {
  const absl::Status damaged = absl::DataLossError("truncated");
  EXPECT_THAT(
      JudgeFailure(damaged, {}),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("truncated")));
}

TEST(EpochFailureTest, AFileThatWasIntactBeforeIsRetried) {
  const absl::Status damaged = absl::DataLossError("truncated");
  EXPECT_EQ(JudgeFailure(damaged, {.has_begun = true}), damaged);
  EXPECT_EQ(JudgeFailure(damaged, {.is_first = false}), damaged);
}

TEST(EpochFailureTest, OtherResultsAreUnchanged) {
  for (const bool has_begun : {false, true}) {
    EXPECT_OK(JudgeFailure(absl::OkStatus(), {.has_begun = has_begun}));
    EXPECT_THAT(
        JudgeFailure(absl::InternalError("bug"), {.has_begun = has_begun}),
        StatusIs(absl::StatusCode::kInternal));
  }
}

TEST(EpochFailureTest, LostConnectionsMayBeTheFaultOfOthers) {
  EXPECT_TRUE(MayBeTheirs(absl::UnavailableError("")));
  EXPECT_TRUE(MayBeTheirs(absl::CancelledError("")));
  EXPECT_TRUE(MayBeTheirs(absl::AbortedError("")));
  EXPECT_FALSE(MayBeTheirs(absl::DataLossError("")));
  EXPECT_FALSE(MayBeTheirs(absl::OkStatus()));
}

}  // namespace
}  // namespace gandem
