// SPDX-License-Identifier: Apache-2.0
//
// Runs the real `gandem` with played workers (played_worker.cc). The folder
// played/ beside the tests holds all binaries.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/files/file.h"
#include "common/files/rotation.h"
#include "common/process/child_process.h"
#include "common/process/exit_code.h"
#include "tests/pipeline/idx_files.h"
#include "tests/testing/eventually.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/testing/test_certificates.h"
#include "tests/testing/test_programs.h"

namespace gandem {
namespace {

using Json = nlohmann::json;
using ::gandem::testing::Eventually;
using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string PlayedProgram(absl::string_view name) {
  return testing::TestProgram(absl::StrCat("played/", name));
}

constexpr char kRecipe[] = R"(
  name: "played"
  rounds: 40
  data { idx_images: "$IMAGES" idx_labels: "" }
  generator { network { mlp { hidden: 8 } } batch_size: 4
              optimizer { adam {} } }
  discriminator { network { mlp { hidden: 8 } } batch_size: 4
                  optimizer { adam {} } }
  checkpoint { every_rounds: 10 keep_last: 100 }
  control { grace_seconds: 20 }
)";

class TrainCommandTest : public ::testing::Test {
 protected:
  TrainCommandTest() {
    const std::string images = gandem::testing::WritePlain(
        folder_ / "images", gandem::testing::IdxBytes({1, 1, 2}, {0, 255}));
    EXPECT_OK(WriteFile(recipe_,
                        absl::StrReplaceAll(kRecipe, {{"$IMAGES", images}})));
    // Workers whose `gandem` was killed become children of this process.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  ~TrainCommandTest() override {
    for (const auto& [name, value] : environment_) unsetenv(name.c_str());
    // No process may outlive `gandem`.
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a process is left";
  }
  void Set(const std::string& name, const std::string& value) {
    environment_[name] = value;
    setenv(name.c_str(), value.c_str(), 1);
  }
  void Unset(const std::string& name) { unsetenv(name.c_str()); }

  ChildProcess Start(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), PlayedProgram("gandem"));
    auto child = ChildProcess::Start({arguments, output_});
    EXPECT_OK(child);
    return *std::move(child);
  }
  ChildProcess StartTrain(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"train", recipe_, "--run_dir",
                                          run_dir_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Start(arguments);
  }
  // `script` gets the path of the binary as $0.
  ChildProcess StartShell(const std::string& script) {
    auto child = ChildProcess::Start(
        {{"/bin/sh", "-c", script, PlayedProgram("gandem")}, output_});
    EXPECT_OK(child);
    return *std::move(child);
  }
  static int WaitForEnd(ChildProcess& child) {
    std::optional<ProcessEnd> end;
    if (!Eventually([&] { return (end = child.Poll()).has_value(); })) {
      ADD_FAILURE() << "gandem does not end; " << child.LogTail(50);
      return -1;
    }
    return end->exit_code;
  }
  int Train(const std::vector<std::string>& more = {}) {
    ChildProcess child = StartTrain(more);
    return WaitForEnd(child);
  }
  // Reaps workers that were killed with their `gandem`. Returns their number.
  static int ReapOrphans() {
    int count = 0;
    int wait_status = 0;
    while (waitpid(-1, &wait_status, 0) > 0) {
      EXPECT_TRUE(WIFSIGNALED(wait_status));
      ++count;
    }
    return count;
  }
  std::string Output() { return ReadFile(output_).value_or(""); }
  int64_t NewestStep() {
    const auto newest = FindNewestCheckpoint(run_dir_);
    return newest.ok() ? newest->step : 0;
  }
  void WaitForStep(int64_t step) {
    ASSERT_TRUE(Eventually([&] { return NewestStep() >= step; })) << Output();
  }
  Json StatusOfRun() {
    const std::string file = folder_ / "status.json";
    auto child = ChildProcess::Start(
        {{PlayedProgram("gandem"), "status", run_dir_, "--json"}, file});
    EXPECT_OK(child);
    EXPECT_EQ(WaitForEnd(*child), 0);
    const Json json = Json::parse(ReadFile(file).value_or(""), nullptr, false);
    EXPECT_OK(RemoveAll(file));
    return json;
  }
  // Returns the rounds of one role in metrics.jsonl, by run epoch.
  std::map<int64_t, std::vector<int64_t>> Metrics(const std::string& role) {
    std::map<int64_t, std::vector<int64_t>> rounds;
    const std::string text = ReadFile(run_dir_ + "/metrics.jsonl").value_or("");
    for (const auto line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      const Json json = Json::parse(line.begin(), line.end());
      if (json.at("role") == role) {
        rounds[json.at("run_epoch")].push_back(json.at("round"));
      }
    }
    return rounds;
  }

  TempDir folder_;
  const std::string recipe_ = folder_ / "recipe.textproto";
  const std::string run_dir_ = folder_ / "run";
  const std::string output_ = folder_ / "output";
  std::map<std::string, std::string> environment_;
};

TEST_F(TrainCommandTest, RunsFromStartToEnd) {
  EXPECT_EQ(Train(), kExitOk) << Output();
  EXPECT_EQ(NewestStep(), 40);
  const auto metrics = Metrics("generator");
  ASSERT_EQ(metrics.size(), 1);
  EXPECT_EQ(metrics.at(1).size(), 40);
  EXPECT_TRUE(PathExists(run_dir_ + "/config.textproto"));
  EXPECT_TRUE(PathExists(run_dir_ + "/logs/generator-0.log"));
  EXPECT_TRUE(PathExists(run_dir_ + "/logs/discriminator-0.log"));
  ASSERT_OK_AND_ASSIGN(const auto events,
                       ListDirectory(run_dir_ + "/tensorboard"));
  EXPECT_EQ(events.size(), 1);
  EXPECT_THAT(Output(), HasSubstr("finished: all 40 rounds are done"));
  EXPECT_THAT(Output(), Not(HasSubstr("\r")));
  const Json status = StatusOfRun();
  EXPECT_EQ(status.at("state"), "FINISHED");
  EXPECT_EQ(status.at("completed_rounds"), "40");
  // A complete run has nothing to do.
  EXPECT_EQ(Train(), kExitOk);
  EXPECT_EQ(Metrics("generator").size(), 1);
}

TEST_F(TrainCommandTest, AColocatedRunTrains) {
  EXPECT_EQ(Train({"--colocated"}), kExitOk) << Output();
  EXPECT_TRUE(PathExists(run_dir_ + "/logs/colocated-0.log"));
  EXPECT_FALSE(PathExists(run_dir_ + "/logs/generator-0.log"));
}

TEST_F(TrainCommandTest, WorkersGetTheirOwnCoresIfThereAreEnough) {
  const auto log = [this] {
    return ReadFile(run_dir_ + "/logs/gandem.log").value_or("");
  };
  EXPECT_EQ(Train({"--bind_cores", "none"}), kExitOk) << Output();
  EXPECT_THAT(log(), Not(HasSubstr("cores")));
  EXPECT_EQ(Train({"--set", "rounds=50"}), kExitOk) << Output();
  // A machine with one core has too few.
  EXPECT_THAT(log(), AnyOf(HasSubstr("cores: generator 0 on "),
                           HasSubstr("workers are not bound to cores")));
  ChildProcess many = Start({"train", recipe_, "--run_dir", folder_ / "many",
                             "--set", "generator.threads=1024"});
  EXPECT_EQ(WaitForEnd(many), kExitOk) << Output();
  EXPECT_THAT(Output(),
              HasSubstr("workers are not bound to cores: 2 workers have 1025 "
                        "compute threads, and"));
}

TEST_F(TrainCommandTest, StopsWithACheckpointAndResumes) {
  Set("PLAY_ROUND_MS", "5");
  ChildProcess child = StartTrain({"--set", "rounds=4000"});
  WaitForStep(10);
  child.Signal(SIGINT);
  EXPECT_EQ(WaitForEnd(child), kExitResumable) << Output();
  EXPECT_THAT(Output(), AllOf(HasSubstr("stopped by Ctrl-C"),
                              HasSubstr("the same command resumes")));
  const int64_t step = NewestStep();
  EXPECT_GE(step, 10);
  EXPECT_EQ(StatusOfRun().at("last_checkpoint_step"), absl::StrCat(step));
  // Reported rounds are not repeated.
  EXPECT_EQ(Metrics("generator").at(1).back(), step - 1);
  EXPECT_EQ(Metrics("discriminator").at(1).back(), step - 1);
  EXPECT_EQ(Train({"--set", absl::StrCat("rounds=", step + 20)}), kExitOk)
      << Output();
  EXPECT_EQ(Metrics("generator").at(2).front(), step);
}

TEST_F(TrainCommandTest, SigtermStopsLikeCtrlC) {
  Set("PLAY_ROUND_MS", "5");
  ChildProcess child = StartTrain({"--set", "rounds=4000"});
  WaitForStep(10);
  child.Signal(SIGTERM);
  EXPECT_EQ(WaitForEnd(child), kExitResumable) << Output();
}

TEST_F(TrainCommandTest, NohupKeepsTheRunGoing) {
  Set("PLAY_ROUND_MS", "5");
  auto child = ChildProcess::Start(
      {{"/usr/bin/nohup", PlayedProgram("gandem"), "train", recipe_,
        "--run_dir", run_dir_, "--set", "rounds=4000"},
       output_});
  ASSERT_OK(child);
  WaitForStep(10);
  child->Signal(SIGHUP);
  WaitForStep(NewestStep() + 20);
  child->Signal(SIGINT);
  EXPECT_EQ(WaitForEnd(*child), kExitResumable);
  EXPECT_THAT(Output(), HasSubstr("stopped by Ctrl-C"));
}

TEST_F(TrainCommandTest, SigtermToAWorkerStopsTheRun) {
  Set("PLAY_ROUND_MS", "5");
  ChildProcess child = StartTrain({"--set", "rounds=4000"});
  WaitForStep(10);
  const Json status = StatusOfRun();
  int pid = 0;
  ASSERT_TRUE(absl::SimpleAtoi(
      status.at("workers").at(0).at("pid").get<std::string>(), &pid));
  ASSERT_EQ(kill(pid, SIGTERM), 0);
  EXPECT_EQ(WaitForEnd(child), kExitResumable) << Output();
  EXPECT_THAT(Output(), HasSubstr("generator 0 was asked to stop"));
}

TEST_F(TrainCommandTest, UnwritableOutputIsAnError) {
  ASSERT_EQ(Train(), kExitOk);
  for (const std::string arguments :
       {"--help", "explain", "report $RUN --json", "report $RUN",
        "status $RUN --json", "logs $RUN"}) {
    SCOPED_TRACE(arguments);
    const std::string command =
        "$0 " + absl::StrReplaceAll(arguments, {{"$RUN", run_dir_}});
    ChildProcess full = StartShell(command + " > /dev/full");
    EXPECT_EQ(WaitForEnd(full), kExitInternal);
    EXPECT_THAT(Output(), HasSubstr("output could not be written"));
    ChildProcess read = StartShell(command + " > /dev/null");
    EXPECT_EQ(WaitForEnd(read), kExitOk);
  }
  // A reader that exits early is no error.
  ChildProcess left =
      StartShell("(trap '' PIPE; $0 explain; echo ended $? >&2) | true");
  EXPECT_EQ(WaitForEnd(left), 0);
  EXPECT_THAT(Output(), HasSubstr("ended 0"));
  ChildProcess train = StartShell(absl::StrCat(
      "$0 train ", recipe_, " --run_dir ", run_dir_, " > /dev/full"));
  EXPECT_EQ(WaitForEnd(train), kExitOk);
}

TEST_F(TrainCommandTest, SecondCtrlCExitsAtOnce) {
  Set("PLAY_ROUND_MS", "50000");  // the round does not end
  ChildProcess child = StartTrain();
  const auto prints = [this](const char* text) {
    return Eventually([&] { return Output().find(text) != std::string::npos; });
  };
  ASSERT_TRUE(prints("all workers are ready"));
  child.Signal(SIGINT);
  ASSERT_TRUE(prints("stopping: stopped by Ctrl-C"));
  ASSERT_TRUE(prints("a second Ctrl-C exits at once"));
  // Within a second, signals count as one Ctrl-C (user_wishes.h).
  std::optional<ProcessEnd> end;
  ASSERT_TRUE(Eventually([&] {
    child.Signal(SIGINT);
    return (end = child.Poll()).has_value();
  }));
  EXPECT_EQ(end->exit_code, 128 + SIGINT);
}

TEST_F(TrainCommandTest, WorkersThatDoNotExitAreKilled) {
  Set("PLAY_STAY", "1");
  EXPECT_EQ(Train({"--set", "control.grace_seconds=0.5"}), kExitOk);
  EXPECT_THAT(Output(), HasSubstr("sending them SIGTERM"));
}

TEST_F(TrainCommandTest, KilledWorkersAreRestarted) {
  Set("PLAY_KILL", "generator:25:" + folder_ / "killed");
  EXPECT_EQ(Train(), kExitOk) << Output();
  EXPECT_THAT(Output(), HasSubstr("generator 0 was killed by signal 9"));
  EXPECT_EQ(NewestStep(), 40);
  const auto metrics = Metrics("discriminator");
  EXPECT_EQ(metrics.rbegin()->first, 2);
  EXPECT_EQ(metrics.rbegin()->second.back(), 39);
}

TEST_F(TrainCommandTest, GandemItselfMayBeKilled) {
  Set("PLAY_ROUND_MS", "5");
  Set("TMPDIR", folder_ / "tmp");
  ASSERT_OK(CreateDirectories(folder_ / "tmp"));
  {
    ChildProcess child = StartTrain({"--set", "rounds=4000"});
    WaitForStep(10);
    kill(child.pid(), SIGKILL);
    EXPECT_EQ(WaitForEnd(child), 137);
    EXPECT_EQ(ReapOrphans(), 2);
  }
  const int64_t step = NewestStep();
  EXPECT_EQ(StatusOfRun().at("state"), "STOPPED");
  EXPECT_EQ(Train({"--set", absl::StrCat("rounds=", step + 20)}), kExitOk)
      << Output();
  EXPECT_EQ(Metrics("generator").rbegin()->second.front(), step);
  ASSERT_OK_AND_ASSIGN(const auto left, ListDirectory(folder_ / "tmp"));
  EXPECT_THAT(left, ::testing::IsEmpty());
}

TEST_F(TrainCommandTest, GandemMayBeKilledAtAnyFailpoint) {
  for (const std::string point :
       {"coordinator.after_epoch:1", "coordinator.after_register:2",
        "checkpoint.before_manifest:2", "checkpoint.before_rename:1",
        "checkpoint.after_rename:2", "checkpoint.prune:1"}) {
    SCOPED_TRACE(point);
    ASSERT_OK(RemoveAll(run_dir_));
    Set("GANDEM_FAILPOINT", point);
    EXPECT_EQ(Train({"--set", "checkpoint.keep_last=1"}), 137);
    ReapOrphans();
    Unset("GANDEM_FAILPOINT");
    EXPECT_EQ(Train({"--set", "checkpoint.keep_last=1"}), kExitOk) << Output();
    EXPECT_EQ(NewestStep(), 40);
    ASSERT_OK_AND_ASSIGN(const auto left,
                         ListDirectory(run_dir_ + "/checkpoints"));
    EXPECT_EQ(left.size(), 1);
  }
}

TEST_F(TrainCommandTest, UsageErrorsOfWorkersEndTheRun) {
  Set("PLAY_USAGE", "discriminator");
  EXPECT_EQ(Train(), kExitUsage);
  EXPECT_THAT(Output(),
              AllOf(HasSubstr("played usage error"),
                    HasSubstr("  | cuda:7 is not there"),
                    HasSubstr(run_dir_ + "/logs/discriminator-0.log")));
  // `gandem status` reports the failure later.
  const Json status = StatusOfRun();
  EXPECT_EQ(status.at("state"), "FAILED");
  EXPECT_THAT(status.at("detail").get<std::string>(),
              HasSubstr("discriminator 0"));
  // The next start clears the failure.
  Unset("PLAY_USAGE");
  EXPECT_EQ(Train(), kExitOk) << Output();
  EXPECT_EQ(StatusOfRun().at("state"), "FINISHED");
}

TEST_F(TrainCommandTest, OneGandemPerRunFolder) {
  Set("PLAY_ROUND_MS", "5");
  ChildProcess child = StartTrain({"--set", "rounds=4000"});
  WaitForStep(10);
  EXPECT_EQ(Train({"--set", "rounds=4000"}), kExitUsage);
  EXPECT_THAT(Output(), HasSubstr("is in use by another `gandem train`"));
  const Json status = StatusOfRun();
  EXPECT_EQ(status.at("state"), "RUNNING");
  EXPECT_EQ(status.at("workers").at(0).at("state"), "RUNNING");
  child.Signal(SIGINT);
  EXPECT_EQ(WaitForEnd(child), kExitResumable);
}

TEST_F(TrainCommandTest, AnotherConfigIsRejectedAndAnExtensionIsNot) {
  ASSERT_EQ(Train(), kExitOk);
  EXPECT_EQ(Train({"--set", "seed=7", "--set", "schedule.lag=2"}), kExitUsage);
  EXPECT_THAT(Output(), AllOf(HasSubstr("seed: 1, now 7"),
                              HasSubstr("schedule.lag: 1, now 2")));
  EXPECT_EQ(Train({"--set", "rounds=60", "--set", "checkpoint.every_rounds=7"}),
            kExitOk)
      << Output();
  EXPECT_EQ(NewestStep(), 60);
}

TEST_F(TrainCommandTest, ExtensionsKeepTheEndOfADecay) {
  const std::string schedule = "generator.optimizer.rate_schedule";
  const std::vector<std::string> linear = {"--set", schedule + ".shape=LINEAR"};
  ASSERT_EQ(Train(linear), kExitOk) << Output();
  std::vector<std::string> more = linear;
  more.insert(more.end(), {"--set", "rounds=60"});
  EXPECT_EQ(Train(more), kExitUsage);
  const std::string end = schedule + ".decay_until_round=40";
  EXPECT_THAT(Output(), HasSubstr("add --set " + end));
  more.insert(more.end(), {"--set", end});
  EXPECT_EQ(Train(more), kExitOk) << Output();
  EXPECT_EQ(NewestStep(), 60);
}

TEST_F(TrainCommandTest, InvalidInputIsNamed) {
  ChildProcess no_folder =
      Start({"train", recipe_, "--run_dir", recipe_ + "/run"});
  EXPECT_EQ(WaitForEnd(no_folder), kExitUsage);
  EXPECT_THAT(Output(), HasSubstr(recipe_ + "/run"));
  EXPECT_EQ(Train({"--listen", "0.0.0.0:0"}), kExitUsage);
  EXPECT_THAT(Output(), HasSubstr("give one of this host"));
  ChildProcess no_run = Start({"status", folder_ / "nothing"});
  EXPECT_EQ(WaitForEnd(no_run), kExitUsage);
  EXPECT_THAT(Output(), HasSubstr("holds no run"));
}

TEST_F(TrainCommandTest, WorkersAndStatusFindTheCertificates) {
  const std::string certs = folder_ / "certs";
  gandem::testing::MakeAuthority(certs);
  gandem::testing::IssueCertificate(certs, {gandem::testing::kHostOfOthers});
  Set("PLAY_ROUND_MS", "20");
  const std::string listen = absl::StrCat(gandem::testing::kHostOfOthers, ":0");
  std::vector<std::string> flags = {"--set", "rounds=100000", "--listen",
                                    listen};
  for (int start = 0; start < 2; ++start) {
    const int64_t before = std::max<int64_t>(0, NewestStep());
    ChildProcess child = StartTrain(flags);
    WaitForStep(before + 10);
    const Json status = StatusOfRun();
    EXPECT_EQ(status["state"], "RUNNING");
    EXPECT_EQ(status["refused_connections"], "0");
    child.Signal(SIGTERM);
    EXPECT_EQ(WaitForEnd(child), kExitResumable) << Output();
    // The next start replaces the run's certificates by the user's.
    flags.insert(flags.end(), {"--certificates",
                               certs + "/" + gandem::testing::kHostOfOthers});
  }
}

TEST_F(TrainCommandTest, PortsInUseAreNamed) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(fd, generic, size), 0);
  ASSERT_EQ(listen(fd, 1), 0);
  ASSERT_EQ(getsockname(fd, generic, &size), 0);
  const std::string listen =
      absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  EXPECT_EQ(Train({"--listen", listen}), kExitUsage);
  EXPECT_THAT(Output(), AllOf(HasSubstr(listen), HasSubstr("another process")));
  close(fd);
}

TEST_F(TrainCommandTest, TcpWorksLikeAUnixSocket) {
  EXPECT_EQ(Train({"--listen", "127.0.0.1:0"}), kExitOk) << Output();
}

TEST_F(TrainCommandTest, DamagedCheckpointsAreSkipped) {
  ASSERT_EQ(Train(), kExitOk);
  ASSERT_OK(WriteFile(CheckpointPath(run_dir_, 40) + "/generator-0", "x"));
  EXPECT_EQ(Train(), kExitOk) << Output();
  EXPECT_THAT(Output(), HasSubstr("skipped a damaged checkpoint"));
  EXPECT_EQ(NewestStep(), 40);
  EXPECT_EQ(Metrics("generator").at(2).front(), 30);
}

// The output is a full pipe.
TEST_F(TrainCommandTest, ContinuesWithoutAReaderOfItsOutput) {
  Set("PLAY_ROUND_MS", "5");
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const int writer = open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(writer, 0);
  const std::string bytes(4096, '.');
  while (write(writer, bytes.data(), bytes.size()) > 0) {
  }
  ChildProcess child =
      StartShell(absl::StrCat("exec \"$0\" train ", recipe_, " --run_dir ",
                              run_dir_, " --set rounds=4000 > ", pipe));
  WaitForStep(50);
  EXPECT_EQ(StatusOfRun().at("state"), "RUNNING");
  child.Signal(SIGINT);
  EXPECT_EQ(WaitForEnd(child), kExitResumable) << Output();
  const std::string log = ReadFile(run_dir_ + "/logs/gandem.log").value_or("");
  EXPECT_THAT(log, AllOf(HasSubstr("stopped by Ctrl-C"),
                         HasSubstr("the same command resumes"),
                         HasSubstr("nobody read the last ")));
  close(reader);
  close(writer);
}

TEST_F(TrainCommandTest, WorksWithoutStandardStreams) {
  ChildProcess child = StartShell(absl::StrCat(
      "exec \"$0\" train ", recipe_, " --run_dir ", run_dir_, " <&- >&- 2>&-"));
  EXPECT_EQ(WaitForEnd(child), kExitOk);
  const std::string lock = ReadFile(run_dir_ + "/state/lock").value_or("");
  EXPECT_THAT(lock, AllOf(StartsWith("process "), EndsWith("\n")));
  EXPECT_EQ(std::count(lock.begin(), lock.end(), '\n'), 1) << lock;
}

TEST_F(TrainCommandTest, StatusReportsUnresponsiveTraining) {
  Set("PLAY_ROUND_MS", "5");
  ChildProcess child = StartTrain({"--set", "rounds=4000"});
  WaitForStep(10);
  kill(child.pid(), SIGSTOP);
  const Json status = StatusOfRun();
  EXPECT_EQ(status.at("state"), "UNREACHABLE");
  EXPECT_THAT(status.at("detail").get<std::string>(),
              AllOf(HasSubstr(absl::StrCat("process ", child.pid())),
                    HasSubstr("does not answer")));
  kill(child.pid(), SIGCONT);
  child.Signal(SIGINT);
  EXPECT_EQ(WaitForEnd(child), kExitResumable) << Output();
  EXPECT_EQ(StatusOfRun().at("state"), "STOPPED");
}

TEST_F(TrainCommandTest, ExternalWorkersOutliveGandem) {
  Set("PLAY_ROUND_MS", "5");
  const std::vector<std::string> external = {"--external", "--set",
                                             "rounds=600"};
  std::vector<ChildProcess> workers;
  {
    ChildProcess child = StartTrain(external);
    const std::string address_file = run_dir_ + "/state/control.addr";
    ASSERT_TRUE(Eventually([&] { return PathExists(address_file); }));
    ASSERT_OK_AND_ASSIGN(std::string address, ReadFile(address_file));
    address.pop_back();  // the newline
    for (const std::string role : {"generator", "discriminator"}) {
      auto worker =
          ChildProcess::Start({{PlayedProgram(absl::StrCat(role, "_worker")),
                                "--control", address, "--rank", "0"},
                               folder_ / role});
      ASSERT_OK(worker);
      workers.push_back(*std::move(worker));
    }
    WaitForStep(10);
    child.Signal(SIGKILL);
    EXPECT_EQ(WaitForEnd(child), 137);
  }
  EXPECT_EQ(Train(external), kExitOk) << Output();
  for (ChildProcess& worker : workers) EXPECT_EQ(WaitForEnd(worker), kExitOk);
  EXPECT_EQ(NewestStep(), 600);
  // The same processes continued in a run epoch of the next `gandem`.
  const auto metrics = Metrics("generator");
  ASSERT_EQ(metrics.size(), 2);
  EXPECT_EQ(metrics.at(2).back(), 599);
}

}  // namespace
}  // namespace gandem
