// SPDX-License-Identifier: Apache-2.0
//
// The launcher with real processes: shell scripts in place of the workers.
#include "control_plane/launch/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/process/cores.h"
#include "common/version.h"
#include "tests/testing/eventually.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/testing/test_programs.h"

namespace gandem {
namespace {

using ::gandem::testing::Eventually;
using ::gandem::testing::TempDir;
using ::gandem::testing::TestProgram;
using ::testing::AllOf;
using ::testing::HasSubstr;

class LauncherTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto coordinator = Coordinator::Create(
        {.run_name = "test",
         .run_dir = run_dir_.path(),
         .config_text = "rounds: 1\n",
         .epoch = {.rounds = 1,
                   .workers = {{GENERATOR, 0}, {DISCRIMINATOR, 0}},
                   .restart_budget = 2}});
    ASSERT_OK(coordinator);
    coordinator_ = *std::move(coordinator);
    Launch(/*trace_folder=*/"");
  }
  void Launch(const std::string& trace_folder) {
    launcher_.emplace(
        Launcher::Options{.program = {.binary_folder = binaries_.path()},
                          .run_dir = run_dir_.path(),
                          .control_address = "unix:/tmp/c",
                          .trace_folder = trace_folder},
        coordinator_.get());
  }
  void GiveUpGenerator();
  void LaunchBy(const std::string& program) {
    launcher_.emplace(
        Launcher::Options{.program = {.binary_folder = binaries_.path()},
                          .run_dir = run_dir_.path(),
                          .control_address = "unix:/tmp/c",
                          .start_by = program},
        coordinator_.get());
  }
  // Makes the role's binary run test_child with these arguments before its own.
  void Install(Role role, const std::string& arguments) {
    const std::string path = binaries_ / WorkerBinary(role);
    ASSERT_OK(WriteFile(
        path, absl::StrCat("#!/bin/sh\nexec ", TestProgram("test_child"), " ",
                           arguments, " \"$@\" wait\n")));
    ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  }
  // Polls until `count` workers have failed.
  std::vector<Launcher::Failure> PollForFailures(size_t count) {
    std::vector<Launcher::Failure> failures;
    EXPECT_TRUE(Eventually([&] {
      for (auto& failure : launcher_->Poll()) failures.push_back(failure);
      return failures.size() >= count;
    }));
    return failures;
  }
  // Returns OMP_WAIT_POLICY and the niceness of a started generator.
  std::string StartedWith(double threads_per_core) {
    launcher_.emplace(
        Launcher::Options{.program = {.binary_folder = binaries_.path()},
                          .run_dir = run_dir_.path(),
                          .control_address = "unix:/tmp/c",
                          .threads_per_core = threads_per_core},
        coordinator_.get());
    const std::string path = binaries_ / WorkerBinary(GENERATOR);
    EXPECT_OK(WriteFile(
        path, "#!/bin/sh\necho \"$OMP_WAIT_POLICY.$(nice)\"\nexec sleep 60\n"));
    EXPECT_EQ(chmod(path.c_str(), 0755), 0);
    Install(DISCRIMINATOR, "");
    launcher_->Poll();
    EXPECT_TRUE(Eventually([&] { return !Log("generator-0.log").empty(); }));
    return Log("generator-0.log");
  }
  // Returns whether no process is left.
  bool AllEnd() {
    return Eventually([this] {
      launcher_->Poll();
      return launcher_->empty();
    });
  }
  std::string Log(const std::string& name) {
    return ReadFile(run_dir_ / "logs/" + name).value_or("");
  }
  // Expects that the generator's log becomes `expected`.
  void ExpectLog(const std::string& expected) {
    Eventually([&] { return Log("generator-0.log") == expected; });
    EXPECT_EQ(Log("generator-0.log"), expected);
  }

  TempDir run_dir_;
  TempDir binaries_;
  std::unique_ptr<Coordinator> coordinator_;
  std::optional<Launcher> launcher_;
};

TEST_F(LauncherTest, StartsEveryWorkerOnce) {
  Install(GENERATOR, "");
  Install(DISCRIMINATOR, "");
  launcher_->Poll();
  launcher_->Poll();
  const StatusReply status = coordinator_->Status();
  ASSERT_EQ(status.workers_size(), 2);
  for (const WorkerStatus& worker : status.workers()) {
    EXPECT_EQ(worker.state(), WorkerStatus::STARTING);
    EXPECT_EQ(kill(static_cast<pid_t>(worker.pid()), 0), 0);
  }
  EXPECT_NE(status.workers(0).pid(), status.workers(1).pid());
}

TEST_F(LauncherTest, TheWorkerReceivesItsRoleAndRank) {
  Install(GENERATOR, "print=hello");
  Install(DISCRIMINATOR, "");
  launcher_->Poll();
  ExpectLog("hello\n--control\nunix:/tmp/c\n--rank\n0\n");
}

TEST_F(LauncherTest, TheWorkerReceivesThePathOfItsTrace) {
  Launch("/tmp/run/trace");
  Install(GENERATOR, "");
  Install(DISCRIMINATOR, "");
  launcher_->Poll();
  ExpectLog("--control\nunix:/tmp/c\n--rank\n0\n--trace\n/tmp/run/trace\n");
}

TEST_F(LauncherTest, WorkersThatShareCoresDoNotSpin) {
  EXPECT_THAT(StartedWith(/*threads_per_core=*/2), HasSubstr("PASSIVE."));
}

// 1.25 to the power of 4 is 2.4.
TEST_F(LauncherTest, WorkersThatShareCoresHaveALowerPriority) {
  EXPECT_THAT(StartedWith(/*threads_per_core=*/2),
              HasSubstr(absl::StrCat(".", nice(0) + 4, "\n")));
}

TEST_F(LauncherTest, ThePriorityOfWorkersHasALimit) {
  EXPECT_THAT(StartedWith(/*threads_per_core=*/1000), HasSubstr(".19\n"));
}

TEST_F(LauncherTest, WorkersWithTheirOwnCoresKeepTheDefaultWaitPolicy) {
  EXPECT_EQ(StartedWith(/*threads_per_core=*/1),
            absl::StrCat(".", nice(0), "\n"));
}

// The program gets the worker, the number of starts and the command.
TEST_F(LauncherTest, AProgramStartsWorkersElsewhere) {
  const std::string program = run_dir_ / "start.sh";
  ASSERT_OK(WriteFile(program, "#!/bin/sh\necho \"$@\"\nexit 7\n"));
  ASSERT_EQ(chmod(program.c_str(), 0755), 0);
  LaunchBy(program);
  EXPECT_EQ(PollForFailures(1).front().end.exit_code, 7);
  const std::string command = absl::StrCat(binaries_ / WorkerBinary(GENERATOR),
                                           " --control unix:/tmp/c --rank 0\n");
  EXPECT_TRUE(Eventually([&] {
    launcher_->Poll();
    return absl::StartsWith(
        Log("generator-0.log"),
        absl::StrCat("generator 0 0 ", command, "generator 0 1 ", command));
  })) << Log("generator-0.log");
}

TEST_F(LauncherTest, WorkersRunOnTheirCores) {
  Install(GENERATOR, "cores");
  Install(DISCRIMINATOR, "cores");
  const std::vector<int> allowed = AllowedCores();
  const std::vector<int> last = {allowed.back()};
  launcher_.emplace(
      Launcher::Options{.program = {.binary_folder = binaries_.path()},
                        .run_dir = run_dir_.path(),
                        .control_address = "unix:/tmp/c",
                        .cores = {{{GENERATOR, 0}, last}}},
      coordinator_.get());
  launcher_->Poll();
  const auto says = [this](const std::string& log, const std::string& cores) {
    const std::string expected = absl::StrCat("cores ", cores, ",");
    return Eventually([&] { return absl::StrContains(Log(log), expected); });
  };
  EXPECT_TRUE(says("generator-0.log", CoresText(last)));
  EXPECT_TRUE(says("discriminator-0.log", CoresText(allowed)));
}

TEST_F(LauncherTest, RestartsWithinTheBudgetAndShowsTheLog) {
  Install(GENERATOR, "print=broken signal=9");
  Install(DISCRIMINATOR, "");
  const auto failures = PollForFailures(3);
  ASSERT_EQ(failures.size(), 3);
  for (const Launcher::Failure& failure : failures) {
    EXPECT_EQ(failure.key, (WorkerKey{GENERATOR, 0}));
    EXPECT_EQ(failure.end.exit_code, 137);
    EXPECT_THAT(failure.log_path, HasSubstr("logs/generator-0.log"));
    EXPECT_THAT(failure.advice,
                AllOf(HasSubstr("memory"), HasSubstr("generator.batch_size")));
  }
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitInternal);
  launcher_->Poll();  // starts no worker any more
  launcher_->SignalAll(SIGTERM);
  EXPECT_TRUE(AllEnd());
}

TEST_F(LauncherTest, AUsageErrorIsNotRestarted) {
  Install(GENERATOR, "print=bad_device exit=2");
  Install(DISCRIMINATOR, "");
  const auto failures = PollForFailures(1);
  ASSERT_EQ(failures.size(), 1);
  EXPECT_EQ(failures[0].log_tail, "bad_device\n");
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitUsage);
}

TEST_F(LauncherTest, TheLogOfAFailedAllocationIsShownWithoutStackFrames) {
  std::string text = "[enforce_fail_at_alloc_cpu.cpp:117]_no_memory";
  std::string script = "#!/bin/sh\necho before\necho " + text + "\n";
  absl::StrAppend(&script,
                  "echo 'Exception raised from alloc_cpu (most recent "
                  "call first):'\n");
  for (int frame = 0; frame < 40; ++frame) {
    absl::StrAppend(&script, "echo 'frame #", frame,
                    ": c10::Error::Error()'\n");
  }
  absl::StrAppend(&script, "echo behind\nexit 2\n");
  const std::string path = binaries_ / WorkerBinary(GENERATOR);
  ASSERT_OK(WriteFile(path, script));
  ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  Install(DISCRIMINATOR, "");
  const auto failures = PollForFailures(1);
  ASSERT_EQ(failures.size(), 1);
  EXPECT_EQ(failures[0].log_tail, absl::StrCat("before\n", text, "\nbehind\n"));
  EXPECT_THAT(Log("generator-0.log"), HasSubstr("frame #39: "));
}

TEST_F(LauncherTest, AMissingBinaryEndsTheRun) {
  Install(GENERATOR, "");
  launcher_->Poll();
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitUsage);
  EXPECT_THAT(coordinator_->outcome()->detail,
              HasSubstr("discriminator_worker"));
}

// Worker 0 registers and reports that it is stuck, but never exits: a reported
// failure allows five seconds, silence none.
void LauncherTest::GiveUpGenerator() {
  launcher_->Poll();
  RegisterRequest request;
  request.set_role(GENERATOR);
  request.set_binary_version(std::string(GandemVersion()));
  request.set_pid(coordinator_->Status().workers(0).pid());
  ASSERT_OK_AND_ASSIGN(const RegisterReply reply,
                       coordinator_->Register(request));
  HeartbeatRequest beat;
  beat.set_incarnation(reply.incarnation());
  beat.set_run_epoch(reply.run_epoch());
  beat.set_started_round(-1);
  beat.set_failure("INTERNAL: stuck");
  beat.set_failure_exit_code(kExitInternal);
  ASSERT_OK(coordinator_->Heartbeat(beat));
}

TEST_F(LauncherTest, AnAbandonedWorkerIsKilled) {
  Install(GENERATOR, "ignore_term");
  Install(DISCRIMINATOR, "ignore_term");
  ASSERT_NO_FATAL_FAILURE(GiveUpGenerator());
  const auto failures = PollForFailures(1);
  ASSERT_EQ(failures.size(), 1);
  EXPECT_EQ(failures[0].end.exit_code, 137);
  EXPECT_EQ(failures[0].advice, "");  // killed by the launcher
  EXPECT_EQ(coordinator_->Status().restarts(), 1);
}

TEST_F(LauncherTest, TheStartingProgramIsAskedToEndItsWorker) {
  for (const auto& [arguments, code] :
       {std::pair("wait", 143), std::pair("ignore_term wait", 137)}) {
    SetUp();
    const std::string program = run_dir_ / "start.sh";
    ASSERT_OK(WriteFile(
        program, absl::StrCat("#!/bin/sh\nexec ", TestProgram("test_child"),
                              " ", arguments, "\n")));
    ASSERT_EQ(chmod(program.c_str(), 0755), 0);
    LaunchBy(program);
    ASSERT_NO_FATAL_FAILURE(GiveUpGenerator());
    const auto failures = PollForFailures(1);
    ASSERT_EQ(failures.size(), 1);
    EXPECT_EQ(failures[0].end.exit_code, code);
  }
}

TEST_F(LauncherTest, AWorkerThatWasAskedToExitHasNotFailed) {
  Install(GENERATOR, "ignore_term");
  Install(DISCRIMINATOR, "ignore_term");
  launcher_->Poll();
  coordinator_->RequestStop("test");
  EXPECT_TRUE(launcher_->Poll().empty());
  EXPECT_FALSE(launcher_->empty());
  launcher_->SignalAll(SIGKILL);
  while (!launcher_->empty()) EXPECT_TRUE(launcher_->Poll().empty());
}

}  // namespace
}  // namespace gandem
