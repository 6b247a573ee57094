// SPDX-License-Identifier: Apache-2.0
#include "common/programs/worker_program.h"

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
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;

class WorkerProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    unsetenv("VIRTUAL_ENV");
    unsetenv("PYTHONHOME");
    unsetenv("PYTHONPATH");
    unsetenv("GANDEM_WORKER");
    own_.mutable_discriminator()->mutable_network()->mutable_python()->set_name(
        "Net");
  }
  // A build with workers inside Python.
  void MakePackage() {
    ASSERT_OK(CreateDirectories(build_ / "python/gandem"));
    ASSERT_OK(WriteFile(build_ / "python/gandem/worker.py", ""));
  }
  // `script` is what it does with any arguments.
  std::string MakeInterpreter(const std::string& script = "") {
    EXPECT_OK(CreateDirectories(build_ / "venv/bin"));
    const std::string path = build_ / "venv/bin/python";
    EXPECT_OK(WriteFile(path, absl::StrCat("#!/bin/sh\n", script)));
    EXPECT_EQ(chmod(path.c_str(), 0755), 0);
    return path;
  }

  // The command of `name` in `python`.
  std::vector<std::string> InPython(const std::string& python,
                                    const std::string& name) const {
    return {"/usr/bin/env",
            absl::StrCat("PYTHONPATH=", build_.path(), "/python"),
            absl::StrCat("GANDEM_PROGRAMS=", build_.path(), "/bin"),
            absl::StrCat("GANDEM_INTERPRETER=", python),
            python,
            "-m",
            "gandem.worker",
            name};
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

TEST_F(WorkerProgramTest, RefusesAnInterpreterThatDoesNotStart) {
  MakePackage();
  const std::string python = MakeInterpreter("echo no codec; exit 1");
  EXPECT_THAT(FindWorkerProgram(own_, build_ / "bin", python),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(python),
                             HasSubstr("exited with code 1 and printed\nno "
                                       "codec"),
                             Not(HasSubstr("PYTHONHOME")))));
  setenv("PYTHONHOME", "/no/such", 1);
  EXPECT_THAT(FindWorkerProgram(own_, build_ / "bin", python),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("PYTHONHOME is '/no/such': unset it")));
  unsetenv("PYTHONHOME");
  setenv("PYTHONPATH", "/mine", 1);
  EXPECT_THAT(FindWorkerProgram(own_, build_ / "bin", python),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("PYTHONPATH is '/mine'"),
                             HasSubstr("types.py"))));
}

TEST_F(WorkerProgramTest, EvaluatesInTheInterpreterThatTheArgumentsName) {
  MakePackage();
  const std::string python = MakeInterpreter();
  const std::string run = build_ / "run";
  ASSERT_OK(CreateDirectories(run));
  ASSERT_OK(WriteFile(run + "/config.textproto", own_.DebugString()));
  const std::vector<std::vector<std::string>> all = {
      {"sample", run, "-n", "4", "--python", python},
      {"evaluate", "images/", "--reference=" + run, "--python=" + python},
      {"models", run + "/config.textproto", "--python", "/no/such/python",
       "--python", python},
  };
  for (const std::vector<std::string>& arguments : all) {
    ASSERT_OK_AND_ASSIGN(const auto command,
                         EvaluationCommand(build_ / "bin", arguments));
    EXPECT_THAT(command, ElementsAreArray(InPython(python, "evaluation_job")));
  }
  ASSERT_OK_AND_ASSIGN(
      const auto of_images,
      EvaluationCommand("/b/bin", {"train-features", "--dataset",
                                   run + "/config.textproto"}));
  EXPECT_THAT(of_images, ElementsAre("/b/bin/evaluation_job"));
  EXPECT_THAT(EvaluationCommand(build_ / "bin", {"sample", run}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("name it with --python")));
}

TEST_F(WorkerProgramTest, EvaluatesBuiltInNetworksByItself) {
  const std::string run = build_ / "run";
  ASSERT_OK(CreateDirectories(run));
  const auto evaluates = [&] {
    ASSERT_OK_AND_ASSIGN(
        const auto command,
        EvaluationCommand("/b/bin", {"sample", run, "--python"}));
    EXPECT_THAT(command, ElementsAre("/b/bin/evaluation_job"));
  };
  evaluates();  // no run, for evaluation_job to say
  ASSERT_OK(WriteFile(run + "/config.textproto", "generator {"));
  evaluates();  // damaged
  ASSERT_OK(WriteFile(run + "/config.textproto", "name: 'built-in'"));
  evaluates();
}

TEST_F(WorkerProgramTest, RunsAllRolesInTheInterpreter) {
  MakePackage();
  const std::string python = MakeInterpreter();
  setenv("VIRTUAL_ENV", (build_ / "venv").c_str(), 1);
  ASSERT_OK_AND_ASSIGN(const WorkerProgram program,
                       FindWorkerProgram(own_, build_ / "bin", ""));
  ASSERT_OK_AND_ASSIGN(const auto generator, WorkerCommand(program, GENERATOR));
  EXPECT_THAT(generator, ElementsAreArray(InPython(python, "generator")));
  setenv("PYTHONPATH", "/mine", 1);
  ASSERT_OK_AND_ASSIGN(const auto colocated, WorkerCommand(program, COLOCATED));
  EXPECT_EQ(colocated[1],
            absl::StrCat("PYTHONPATH=", build_.path(), "/python:/mine"));
}

}  // namespace
}  // namespace gandem
