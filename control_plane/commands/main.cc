// SPDX-License-Identifier: Apache-2.0
//
// The `gandem` program.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/config/explain.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/files/printable.h"
#include "common/files/quantities.h"
#include "common/monotonic_time.h"
#include "common/process/binary_folder.h"
#include "common/process/exit_code.h"
#include "common/process/failpoint.h"
#include "common/process/process_start.h"
#include "common/process/signals.h"
#include "common/programs/worker_program.h"
#include "common/results/run_folder.h"
#include "common/stalls/file_patience.h"
#include "common/status.h"
#include "control_plane/command_line/command_line.h"
#include "control_plane/commands/dataset_command.h"
#include "control_plane/commands/load_recipe.h"
#include "control_plane/commands/open_run.h"
#include "control_plane/commands/run_status.h"
#include "control_plane/commands/train_command.h"
#include "control_plane/commands/watch_command.h"
#include "control_plane/deploy_commands/launch_kubernetes.h"
#include "control_plane/deploy_commands/launch_slurm.h"
#include "control_plane/doctor/doctor.h"
#include "control_plane/logs/logs_command.h"
#include "control_plane/reports/compare_command.h"
#include "control_plane/reports/report_command.h"
#include "pipeline/interruptible_reads.h"
#include "scaling_manager/planner_commands/plan_command.h"
#include "scaling_manager/planner_commands/plan_file.h"
#include "scaling_manager/planner_commands/simulate_plan_command.h"
#include "scaling_manager/planner_commands/trials_command.h"
#include "scaling_manager/profiler/profile_command.h"

namespace gandem {
namespace {

constexpr absl::Duration kStatusTimeout = absl::Seconds(3);

// Prints an error, if any. Returns the exit code.
int End(const absl::Status& status, const char* command = "gandem") {
  // Messages contain file names and server texts, which may not be printable.
  if (!status.ok()) {
    std::cerr << command << ": " << PrintableText(status.message()) << "\n";
  }
  return ExitCodeOf(status);
}

// Waits for SIGINT or SIGTERM, which are blocked. Returns false after `limit`.
bool SignalWithin(absl::Duration limit) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  const timespec time = absl::ToTimespec(limit);
  return sigtimedwait(&signals, nullptr, &time) >= 0;
}

int Run(const NoCommand& command) { return command.exit_code; }

int Run(const TrainOptions& options) {
  // Signals are blocked before any thread starts. With SIGPIPE blocked, a
  // closed pipe fails the write instead of ending the process.
  BlockSignals(kTrainSignals);
  BlockSignals({SIGPIPE});
  const auto exit_code = RunTrain(options, STDOUT_FILENO);
  return exit_code.ok() ? *exit_code : End(exit_code.status());
}

int Run(const StatusOptions& options) {
  const FilePatience patience("gandem status");
  const auto status = GetRunStatus(options.run_dir, options.certificates,
                                   MonotonicNow() + kStatusTimeout);
  if (!status.ok()) return End(status.status());
  std::cout << (options.json ? RunStatusJson(*status) + "\n"
                             : RunStatusText(options.run_dir, *status));
  return kExitOk;
}

int Run(const ReportOptions& options) {
  const FilePatience patience("gandem report");
  return End(RunReport(options, std::cout), "gandem report");
}

int Run(const CompareOptions& options) {
  const FilePatience patience("gandem compare");
  return End(RunCompare(options, std::cout), "gandem compare");
}

int Run(const WatchOptions& options) {
  return End(RunWatch(options, stdout), "gandem watch-eval");
}

int Run(const EvaluationOptions& options) {
  const auto folder = BinaryFolder();
  if (!folder.ok()) return End(folder.status());
  auto program = EvaluationCommand(*folder, options.arguments);
  if (!program.ok()) return End(program.status());
  std::vector<std::string> arguments = *std::move(program);
  const std::string binary = arguments.front();
  arguments.insert(arguments.end(), options.arguments.begin(),
                   options.arguments.end());
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv(binary.c_str(), pointers.data());
  if (errno == ENOENT) {
    return End(absl::NotFoundError(absl::StrCat(
        "there is no program '", binary, "': scripts/build.sh builds it")));
  }
  return End(FileError(errno, "cannot execute", binary));
}

int Run(const DatasetOptions& options) {
  if (options.action == DatasetAction::kShow) {
    const FilePatience patience("gandem dataset show");
    return End(ShowDataset(options, std::cout, std::cerr),
               "gandem dataset show");
  }
  if (options.action == DatasetAction::kPack) {
    BlockSignals({SIGINT, SIGTERM});
    return End(PackDataset(options, std::cout, std::cerr),
               "gandem dataset pack");
  }
  const auto exit_code = VerifyDataset(options, std::cout, std::cerr);
  return exit_code.ok() ? *exit_code
                        : End(exit_code.status(), "gandem dataset verify");
}

int Run(const SimulatePlanOptions& options) {
  return End(SimulatePlan(options, std::cout), "gandem simulate");
}

// Loads the recipe until SIGINT or SIGTERM, which the caller has blocked.
absl::StatusOr<SeenRecipe> SeeRecipeHearing(const ProfileOptions& options) {
  const FilePatience patience("gandem profile");
  const InterruptibleReads reads;
  absl::StatusOr<SeenRecipe> recipe =
      SeeRecipe(options.recipe, options.data, options.sets);
  GANDEM_RETURN_IF_ERROR(reads.Explain(recipe.status()));
  return recipe;
}

absl::StatusOr<ProfileRequest> RequestOf(const ProfileOptions& options) {
  GANDEM_ASSIGN_OR_RETURN(const SeenRecipe recipe, SeeRecipeHearing(options));
  GANDEM_ASSIGN_OR_RETURN(ProfileRequest request,
                          ProfileRequestFor(recipe.config, options.python));
  request.output = options.output;
  request.fresh = options.fresh;
  if (!absl::ParseDuration(options.budget, &request.budget) ||
      request.budget < absl::Seconds(1) || request.budget > absl::Hours(24)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--budget '", options.budget,
                     "' is no time from 1s to 24h, for example 90s or 5m"));
  }
  if (!options.memory.empty()) {
    GANDEM_ASSIGN_OR_RETURN(request.memory_bytes,
                            ParseBytes("--memory", options.memory));
  }
  request.measures_data = !recipe.data.text.empty();
  if (request.measures_data) std::cout << recipe.data.text << "\n";
  return request;
}

int Run(const ProfileOptions& options) {
  BlockSignals({SIGINT, SIGTERM});
  BlockSignals({SIGPIPE});
  const auto request = RequestOf(options);
  return End(request.ok() ? RunProfile(*request, std::cout) : request.status(),
             "gandem profile");
}

int Run(const TrialsOptions& options) {
  return End(RunTrials(options, stdout), "gandem trials");
}

absl::Status MakePlanFile(const PlanOptions& options) {
  const absl::StatusOr<SeenRecipe> recipe = [&options] {
    const FilePatience patience("gandem plan");
    return SeeRecipe(options.recipe, options.data, options.sets);
  }();
  GANDEM_RETURN_IF_ERROR(recipe.status());
  return RunPlan(options, recipe->config, std::cout);
}

int Run(const PlanOptions& options) {
  return End(MakePlanFile(options), "gandem plan");
}

absl::StatusOr<RunConfig> LoadForLaunch(const std::string& path,
                                        const std::string& data,
                                        const std::vector<std::string>& sets) {
  const FilePatience patience("gandem launch slurm");
  GANDEM_ASSIGN_OR_RETURN(SeenRecipe recipe, SeeRecipe(path, data, sets));
  return std::move(recipe.config);
}

int Run(const LaunchSlurmOptions& options) {
  return End(LaunchSlurm(options, LoadForLaunch, std::cout),
             "gandem launch slurm");
}

int Run(const LaunchKubernetesOptions& options) {
  return End(LaunchKubernetes(options, std::cout), "gandem launch kubernetes");
}

// Runs the checks of `gandem train`. Only workers' hosts may have the dataset.
absl::StatusOr<RunConfig> CheckAsTrain(const DoctorOptions& options) {
  TrainOptions train;
  train.run_dir = options.run_dir;
  train.external = !options.hosts.empty();
  GANDEM_ASSIGN_OR_RETURN(const std::string text, ReadRecipe(options.recipe));
  (LooksLikePlan(text) ? train.plan.plan : train.recipe) = options.recipe;
  GANDEM_ASSIGN_OR_RETURN(const RunSetup setup, CheckRun(train));
  return *setup.config;
}

int Run(const DoctorOptions& options) {
  BlockSignals({SIGINT, SIGTERM});
  BlockSignals({SIGPIPE});
  const FilePatience patience("gandem doctor");
  const auto exit_code = RunDoctor(
      options,
      [&options]() -> absl::StatusOr<RunConfig> {
        const InterruptibleReads reads;
        absl::StatusOr<RunConfig> config = CheckAsTrain(options);
        GANDEM_RETURN_IF_ERROR(reads.Explain(config.status()));
        return config;
      },
      std::cout);
  return exit_code.ok() ? *exit_code : End(exit_code.status(), "gandem doctor");
}

int Run(const LogsOptions& options) {
  // Ctrl-C ends the wait, but not the printing of buffered lines.
  BlockSignals({SIGINT, SIGTERM});
  const FilePatience patience("gandem logs");
  const LogsHooks hooks = {
      .run_is_alive =
          [&options] { return RunFolder(options.run_dir).IsInTraining(); },
      .wait = SignalWithin,
      .now = absl::Now};
  return End(RunLogs(options, hooks, std::cout), "gandem logs");
}

int Run(const ExplainOptions& options) {
  if (options.field.empty()) {
    std::cout << ExplainAllFields();
    return kExitOk;
  }
  const auto text = ExplainField(options.field);
  if (!text.ok()) return End(text.status());
  std::cout << *text;
  if (!text->empty() && text->back() != '\n') std::cout << "\n";
  return kExitOk;
}

// Returns whether `fd` has a reader. A reader may exit early (`| head`).
bool SomebodyReads(int fd) {
  pollfd out = {.fd = fd, .events = POLLOUT, .revents = 0};
  return poll(&out, 1, 0) < 0 || (out.revents & POLLERR) == 0;
}

// Returns an error code if a command's output could not be written. A run of
// `gandem train` keeps its own exit code.
int EndOf(const Command& command, int exit_code) {
  if (std::holds_alternative<TrainOptions>(command)) return exit_code;
  errno = 0;  // the errno of an earlier failed write is lost
  std::cout.flush();
  const bool written =
      std::fflush(stdout) == 0 && std::cout.good() && std::ferror(stdout) == 0;
  if (written || exit_code != kExitOk || !SomebodyReads(STDOUT_FILENO)) {
    return exit_code;
  }
  std::cerr << "gandem: its output could not be written"
            << (errno == 0 ? "" : std::string(": ") + std::strerror(errno))
            << "\n";
  return kExitInternal;
}

}  // namespace
}  // namespace gandem

int main(int argc, char** argv) {
  gandem::PrepareProcess();
  const absl::Status armed = gandem::ArmFailpointFromEnvironment("gandem");
  if (!armed.ok()) return gandem::End(armed);
  const absl::Status shared = gandem::ShareBinaryFolder();
  if (!shared.ok()) return gandem::End(shared);
  const gandem::Command command =
      gandem::ParseCommandLine(argc, argv, std::cout, std::cerr);
  return gandem::EndOf(
      command,
      std::visit([](const auto& chosen) { return gandem::Run(chosen); },
                 command));
}
