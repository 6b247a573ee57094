// SPDX-License-Identifier: Apache-2.0
#include "common/checkpoint/initial_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class InitialStateTest : public ::testing::Test {
 protected:
  InitialStateTest() {
    EXPECT_OK(CreateDirectories(run_));
    EXPECT_OK(WriteFile(a_, "a state dict"));
    EXPECT_OK(WriteFile(b_, "another state dict"));
  }
  // Returns the generator's initial state kept by the run; empty: none.
  std::string Kept() {
    const auto path = FindInitialState(run_, "generator");
    EXPECT_OK(path.status());
    if (!path.ok() || path->empty()) return "";
    const auto bytes = ReadFile(*path);
    EXPECT_OK(bytes.status());
    return bytes.value_or("");
  }

  gandem::testing::TempDir dir_;
  const std::string run_ = dir_ / "run";
  const std::string a_ = dir_ / "a.safetensors";
  const std::string b_ = dir_ / "b.pt";
};

TEST_F(InitialStateTest, WithoutAnInitialStateNothingIsKept) {
  EXPECT_THAT(*TakeInitialStates(run_, {}, /*begins=*/true), IsEmpty());
  EXPECT_EQ(Kept(), "");
  EXPECT_FALSE(PathExists(run_ + "/init"));
}

TEST_F(InitialStateTest, TheRunDoesNotNeedTheUsersFileAgain) {
  EXPECT_THAT(*TakeInitialStates(run_, {.generator = a_}, /*begins=*/true),
              IsEmpty());
  ASSERT_OK(RemoveAll(a_));
  EXPECT_EQ(Kept(), "a state dict");
  EXPECT_EQ(*FindInitialState(run_, "discriminator"), "");
  // The kept initial state is reported only if the run begins.
  EXPECT_THAT(*TakeInitialStates(run_, {}, /*begins=*/false), IsEmpty());
  EXPECT_THAT(*TakeInitialStates(run_, {}, /*begins=*/true),
              ElementsAre(AllOf(HasSubstr("the generator begins with"),
                                HasSubstr("/init/generator-"))));
}

TEST_F(InitialStateTest, BeforeTheFirstCheckpointAnotherFileIsTaken) {
  ASSERT_OK(TakeInitialStates(run_, {.generator = a_}, true));
  ASSERT_OK(TakeInitialStates(run_, {.generator = b_, .discriminator = a_},
                              /*begins=*/true));
  EXPECT_EQ(Kept(), "another state dict");
  EXPECT_THAT(
      *ListDirectory(run_ + "/init"),
      ElementsAre(StartsWith("discriminator-"), StartsWith("generator-")));
}

TEST_F(InitialStateTest, ARunThatHasBegunKeepsItsInitialState) {
  EXPECT_THAT(TakeInitialStates(run_, {.generator = a_}, /*begins=*/false),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("--init_generator"),
                             HasSubstr("began without one"))));
  ASSERT_OK(TakeInitialStates(run_, {.generator = a_}, true));
  // Passing the first file again is accepted.
  EXPECT_OK(TakeInitialStates(run_, {.generator = a_}, /*begins=*/false));
  EXPECT_THAT(TakeInitialStates(run_, {.generator = b_}, /*begins=*/false),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("began with other values")));
  EXPECT_EQ(Kept(), "a state dict");
}

TEST_F(InitialStateTest, AMissingFileIsNamed) {
  EXPECT_THAT(
      TakeInitialStates(run_, {.generator = dir_ / "none.pt"}, true),
      StatusIs(absl::StatusCode::kNotFound,
               AllOf(HasSubstr("--init_generator"), HasSubstr("none.pt"))));
}

TEST_F(InitialStateTest, ACheckpointIsRefusedWithTheCommandToUseInstead) {
  const std::string checkpoint = dir_ / "step-000000040";
  ASSERT_OK(CreateDirectories(checkpoint));
  ASSERT_OK(WriteFile(checkpoint + "/manifest.textproto", ""));
  const std::string shard = checkpoint + "/generator-0.safetensors";
  ASSERT_OK(WriteFile(shard, "tensors"));
  for (const std::string& file : {shard, checkpoint}) {
    EXPECT_THAT(TakeInitialStates(run_, {.generator = file}, true),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("part of a checkpoint"),
                               HasSubstr("gandem export RUN_DIR"))));
  }
  EXPECT_THAT(TakeInitialStates(run_, {.discriminator = shard}, true),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("begin with drawn values")));
  EXPECT_FALSE(PathExists(run_ + "/init"));
}

TEST_F(InitialStateTest, ACopyThatWasChangedIsFound) {
  ASSERT_OK(TakeInitialStates(run_, {.generator = a_}, true));
  ASSERT_OK_AND_ASSIGN(const std::string path,
                       FindInitialState(run_, "generator"));
  ASSERT_OK(WriteFile(path, "a state dicT"));
  EXPECT_THAT(FindInitialState(run_, "generator"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path)));
}

// A crash leaves one behind.
TEST_F(InitialStateTest, AnUnfinishedCopyIsNone) {
  ASSERT_OK(CreateDirectories(run_ + "/init"));
  ASSERT_OK(WriteFile(run_ + "/init/generator-00000000.tmp", "a st"));
  EXPECT_EQ(Kept(), "");
  EXPECT_THAT(*TakeInitialStates(run_, {}, /*begins=*/true), IsEmpty());
}

}  // namespace
}  // namespace gandem
