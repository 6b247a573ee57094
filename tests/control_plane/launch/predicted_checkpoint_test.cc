// SPDX-License-Identifier: Apache-2.0
#include "control_plane/launch/predicted_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PredictedCheckpointTest : public ::testing::Test {
 protected:
  absl::StatusOr<int64_t> Ask(const std::string& script) {
    const std::string program = programs_ / "evaluation_job";
    EXPECT_OK(WriteFile(program, absl::StrCat("#!/bin/sh\n", script, "\n")));
    EXPECT_EQ(chmod(program.c_str(), 0755), 0);
    RunConfig config;
    config.set_name("asked");
    auto bytes =
        AskForCheckpointBytes(config, programs_.path(), scratch_.path());
    EXPECT_THAT(*ListDirectory(scratch_.path()), IsEmpty());
    return bytes;
  }

  const TempDir programs_;
  const TempDir scratch_;
};

TEST_F(PredictedCheckpointTest, RecipeIsPassedOn) {
  ASSERT_OK_AND_ASSIGN(const int64_t bytes,
                       Ask("[ $1 = models ] && [ $3 = --checkpoint_bytes ] && "
                           "grep -q '^name: \"asked\"' $2 && echo 1234567"));
  EXPECT_EQ(bytes, 1234567);
}

TEST_F(PredictedCheckpointTest, ErrorsQuoteTheProgram) {
  EXPECT_THAT(Ask("echo models: no such network >&2; exit 2"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("exited with code 2"),
                             HasSubstr("no such network"))));
  EXPECT_THAT(Ask("echo many"), StatusIs(absl::StatusCode::kFailedPrecondition,
                                         HasSubstr("many")));
}

}  // namespace
}  // namespace gandem
