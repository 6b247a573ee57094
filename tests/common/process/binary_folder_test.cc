// SPDX-License-Identifier: Apache-2.0
#include "common/process/binary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class BinaryFolderTest : public ::testing::Test {
 protected:
  void SetUp() override { Forget(); }
  void TearDown() override { Forget(); }

  static void Forget() {
    unsetenv("GANDEM_WORKER");
    unsetenv("GANDEM_PROGRAMS");
    unsetenv("GANDEM_INTERPRETER");
  }
};

TEST_F(BinaryFolderTest, IsThatOfTheRunningBinaryUnlessItIsTold) {
  ASSERT_OK_AND_ASSIGN(const std::string own, BinaryFolder());
  EXPECT_THAT(own, EndsWith("/tests"));
  setenv("GANDEM_PROGRAMS", "/somewhere/bin", 1);
  ASSERT_OK_AND_ASSIGN(const std::string told, BinaryFolder());
  EXPECT_EQ(told, "/somewhere/bin");
  setenv("GANDEM_PROGRAMS", "", 1);
  ASSERT_OK_AND_ASSIGN(const std::string again, BinaryFolder());
  EXPECT_EQ(again, own);
}

TEST_F(BinaryFolderTest, AWorkerOfTheUsersIsAllPrograms) {
  ASSERT_OK_AND_ASSIGN(const auto beside, ProgramCommand("/bin", "a_worker"));
  EXPECT_THAT(beside, ElementsAre("/bin/a_worker"));
  setenv("GANDEM_WORKER", "/bin/sh", 1);
  ASSERT_OK_AND_ASSIGN(const auto own, ProgramCommand("/other", "a_worker"));
  EXPECT_THAT(own, ElementsAre("/bin/sh", "a_worker"));
}

TEST_F(BinaryFolderTest, InsidePythonProgramsAre) {
  setenv("GANDEM_INTERPRETER", "/venv/bin/python", 1);
  // It has been asked for by the run; the other one by the user's shell.
  setenv("GANDEM_WORKER", "/bin/sh", 1);
  ASSERT_OK_AND_ASSIGN(const auto command, ProgramCommand("/bin", "a_job"));
  EXPECT_THAT(command,
              ElementsAre("/venv/bin/python", "-m", "gandem.worker", "a_job"));
}

TEST_F(BinaryFolderTest, AWorkerThatIsNoProgramIsNamed) {
  const TempDir folder;
  const std::string path = folder / "worker";
  setenv("GANDEM_WORKER", path.c_str(), 1);
  const auto refused = [&] {
    EXPECT_THAT(ProgramCommand("/bin", "a_worker").status(),
                StatusIs(absl::StatusCode::kNotFound,
                         HasSubstr("GANDEM_WORKER='" + path + "'")));
  };
  refused();  // is not there
  ASSERT_OK(WriteFile(path, "text"));
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  refused();  // may not be executed
  ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  EXPECT_OK(ProgramCommand("/bin", "a_worker").status());
  EXPECT_FALSE(IsProgram(folder.path()));  // a folder may be, in its way
}

TEST_F(BinaryFolderTest, IsSharedWhereAWorkerMayLieElsewhere) {
  ASSERT_OK(ShareBinaryFolder());
  EXPECT_EQ(std::getenv("GANDEM_PROGRAMS"), nullptr);
  setenv("GANDEM_WORKER", "/bin/sh", 1);
  ASSERT_OK_AND_ASSIGN(const std::string own, BinaryFolder());
  ASSERT_OK(ShareBinaryFolder());
  EXPECT_EQ(std::getenv("GANDEM_PROGRAMS"), own);
}

}  // namespace
}  // namespace gandem
