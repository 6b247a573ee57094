// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/launch/worker_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WorkerProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    unsetenv("VIRTUAL_ENV");
    unsetenv("PYTHONPATH");
    own_.mutable_discriminator()->mutable_network()->mutable_python()->set_name(
        "Net");
  }
  // A build with workers inside Python.
  void MakePackage() {
    ASSERT_OK(CreateDirectories(build_ / "python/gandem"));
    ASSERT_OK(WriteFile(build_ / "python/gandem/worker.py", ""));
  }
  std::string MakeInterpreter() {
    EXPECT_OK(CreateDirectories(build_ / "venv/bin"));
    const std::string path = build_ / "venv/bin/python";
    EXPECT_OK(WriteFile(path, ""));
    EXPECT_EQ(chmod(path.c_str(), 0755), 0);
    return path;
  }

  TempDir build_;
  RunConfig own_;
};

TEST_F(WorkerProgramTest, BuiltInNetworksAskForNothing) {
  ASSERT_OK_AND_ASSIGN(
      const WorkerProgram program,
      FindWorkerProgram(RunConfig(), "/b/bin", "/no/such/python"));
  ASSERT_OK_AND_ASSIGN(const auto command, WorkerCommand(program, GENERATOR));
  EXPECT_THAT(command, ElementsAre("/b/bin/generator_worker"));
}

TEST_F(WorkerProgramTest, SaysThatItWasBuiltWithoutPython) {
  EXPECT_THAT(FindWorkerProgram(own_, build_ / "bin", ""),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("discriminator.network.python"),
                             HasSubstr("scripts/build.sh --python"))));
}

TEST_F(WorkerProgramTest, WantsAnInterpreter) {
  MakePackage();
  EXPECT_THAT(FindWorkerProgram(own_, build_ / "bin", ""),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("name it with --python")));
  EXPECT_THAT(FindWorkerProgram(own_, build_ / "bin", "/no/such/python"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--python: '/no/such/python' cannot")));
  setenv("VIRTUAL_ENV", "/no/such", 1);
  EXPECT_THAT(FindWorkerProgram(own_, build_ / "bin", ""),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("$VIRTUAL_ENV: '/no/such/bin/python'")));
}

TEST_F(WorkerProgramTest, RunsAllRolesInTheInterpreter) {
  MakePackage();
  const std::string python = MakeInterpreter();
  setenv("VIRTUAL_ENV", (build_ / "venv").c_str(), 1);
  ASSERT_OK_AND_ASSIGN(const WorkerProgram program,
                       FindWorkerProgram(own_, build_ / "bin", ""));
  ASSERT_OK_AND_ASSIGN(const auto generator, WorkerCommand(program, GENERATOR));
  EXPECT_THAT(generator,
              ElementsAre("/usr/bin/env",
                          absl::StrCat("PYTHONPATH=", build_.path(), "/python"),
                          python, "-m", "gandem.worker", "generator"));
  setenv("PYTHONPATH", "/mine", 1);
  ASSERT_OK_AND_ASSIGN(const auto colocated, WorkerCommand(program, COLOCATED));
  EXPECT_EQ(colocated[1],
            absl::StrCat("PYTHONPATH=", build_.path(), "/python:/mine"));
}

}  // namespace
}  // namespace gandem
