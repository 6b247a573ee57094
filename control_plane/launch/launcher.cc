// SPDX-License-Identifier: Apache-2.0
#include "control_plane/launch/launcher.h"

#include <signal.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/config/role_name.h"
#include "common/files/file.h"
#include "common/monotonic_time.h"
#include "common/process/binary_folder.h"
#include "common/process/exit_code.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr size_t kLauncherTailLines = 15;
constexpr int kWithBacktraceLines = 150;
// Environment variable of OpenMP, which runs LibTorch's compute threads.
constexpr char kWaitPolicy[] = "OMP_WAIT_POLICY";
constexpr absl::Duration kTrimInterval = absl::Minutes(1);
constexpr double kLowestNiceness = 19;

// Returns the end of a log without backtraces: the 30 frames of a LibTorch
// exception would leave no room for its message.
std::string TailWithoutBacktraces(const std::string& tail) {
  std::vector<absl::string_view> lines =
      absl::StrSplit(absl::StripSuffix(tail, "\n"), '\n');
  std::erase_if(lines, [](absl::string_view line) {
    return absl::StartsWith(line, "frame #") ||
           absl::StartsWith(line, "Exception raised from ");
  });
  if (lines.size() > kLauncherTailLines) {
    lines.erase(lines.begin(),
                lines.end() - static_cast<int>(kLauncherTailLines));
  }
  const std::string text = absl::StrJoin(lines, "\n");
  return text.empty() ? text : text + "\n";
}

// Returns the niceness of a host's workers. Each step of niceness divides a
// process's share of a core by 1.25 (sched(7)).
int NicenessOf(double threads_per_core) {
  if (threads_per_core <= 1) return 0;
  const double steps = std::log(threads_per_core) / std::log(1.25);
  return static_cast<int>(std::min(std::ceil(steps), kLowestNiceness));
}

// Returns advice on a worker that got SIGKILL from the kernel or a person. The
// caller excludes workers that the launcher killed.
std::string AdviceOn(WorkerKey key, const ProcessEnd& end) {
  if (end.exit_code != 128 + SIGKILL) return "";
  const std::string batch =
      key.role == COLOCATED
          ? "generator.batch_size and discriminator.batch_size"
          : absl::StrCat(RoleName(key.role), ".batch_size");
  return absl::StrCat(
      "unless somebody killed it, it has used more memory than there is (the ",
      "kernel's log, `dmesg`, knows): make ", batch,
      " smaller, or raise the memory limit");
}

}  // namespace

absl::StatusOr<std::vector<std::string>> Launcher::CommandOf(WorkerKey key) {
  std::vector<std::string> arguments;
  if (!options_.start_by.empty()) {
    arguments = {options_.start_by, RoleName(key.role), absl::StrCat(key.rank),
                 absl::StrCat(starts_[key]++)};
  }
  GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> program,
                          WorkerCommand(options_.program, key.role));
  arguments.insert(arguments.end(), program.begin(), program.end());
  arguments.insert(arguments.end(), {"--control", options_.control_address,
                                     "--rank", absl::StrCat(key.rank)});
  arguments.insert(arguments.end(), options_.credential_flags.begin(),
                   options_.credential_flags.end());
  if (options_.log_format != "text") {
    arguments.insert(arguments.end(), {"--log_format", options_.log_format});
  }
  if (!options_.trace_folder.empty()) {
    arguments.insert(arguments.end(), {"--trace", options_.trace_folder});
  }
  return arguments;
}

std::vector<std::string> Launcher::Environment() const {
  if (options_.threads_per_core <= 1 || std::getenv(kWaitPolicy) != nullptr) {
    return {};
  }
  return {absl::StrCat(kWaitPolicy, "=PASSIVE")};
}

absl::Status Launcher::Start(WorkerKey key) {
  const std::string logs = absl::StrCat(options_.run_dir, "/logs");
  GANDEM_RETURN_IF_ERROR(CreateDirectories(logs));
  GANDEM_ASSIGN_OR_RETURN(std::vector<std::string> arguments, CommandOf(key));
  const auto cores = options_.cores.find(key);
  auto child = ChildProcess::Start(
      {.arguments = std::move(arguments),
       .log_path =
           absl::StrCat(logs, "/", RoleName(key.role), "-", key.rank, ".log"),
       .cores =
           cores == options_.cores.end() ? std::vector<int>() : cores->second,
       .niceness = NicenessOf(options_.threads_per_core),
       .environment = Environment()});
  GANDEM_RETURN_IF_ERROR(child);
  coordinator_->WorkerStarted(key, child->pid());
  children_.emplace(key, *std::move(child));
  return absl::OkStatus();
}

std::vector<Launcher::Failure> Launcher::Poll() {
  std::vector<Failure> failures;
  for (auto it = children_.begin(); it != children_.end();) {
    auto& [key, child] = *it;
    const std::optional<ProcessEnd> end = child.Poll();
    if (!end.has_value()) {
      ++it;
      continue;
    }
    const bool failed =
        end->exit_code != kExitOk && end->exit_code != kExitResumable;
    if (!coordinator_->outcome().has_value() || (failed && !signalled_)) {
      failures.push_back(
          {key, *end, child.log_path(),
           TailWithoutBacktraces(child.LogTail(kWithBacktraceLines)),
           killed_.contains(key) ? "" : AdviceOn(key, *end)});
    }
    killed_.erase(key);
    kill_at_.erase(key);
    coordinator_->WorkerExited(key, end->exit_code, end->description);
    it = children_.erase(it);
  }
  const Coordinator::Wishes wishes = coordinator_->TakeWishes();
  for (const WorkerKey key : wishes.kill) {
    const auto child = children_.find(key);
    if (child == children_.end()) continue;
    End(key, child->second);
  }
  KillLingering();
  for (const WorkerKey key : wishes.start) {
    const absl::Status status = Start(key);
    if (status.ok()) continue;
    // Do not retry: a missing binary would still be missing.
    coordinator_->WorkerExited(key, ExitCodeOf(status),
                               std::string(status.message()));
  }
  TrimLogs();
  return failures;
}

void Launcher::End(WorkerKey key, ChildProcess& child) {
  killed_.insert(key);
  if (options_.start_by.empty()) {
    child.Signal(SIGKILL);
    return;
  }
  // SIGKILL would end the start_by program but not the worker.
  child.Signal(SIGTERM);
  kill_at_.emplace(key, MonotonicNow() + kEndElsewhereTime);
}

void Launcher::KillLingering() {
  const absl::Time now = MonotonicNow();
  for (const auto& [key, time] : kill_at_) {
    const auto child = children_.find(key);
    if (child != children_.end() && now >= time) child->second.Signal(SIGKILL);
  }
}

void Launcher::TrimLogs() {
  const absl::Time now = MonotonicNow();
  if (now < next_trim_) return;
  next_trim_ = now + kTrimInterval;
  for (auto& [key, child] : children_) child.TrimLog();
}

void Launcher::SignalAll(int signal) {
  signalled_ = true;
  for (auto& [key, child] : children_) child.Signal(signal);
}

std::vector<std::string> ToLines(const Launcher::Failure& failure) {
  std::vector<std::string> lines = {absl::StrCat(
      ToString(failure.key), " ", failure.end.description, "; its log is ",
      failure.log_path, failure.log_tail.empty() ? "" : " and ends with")};
  if (!failure.log_tail.empty()) {
    const absl::string_view tail = absl::StripSuffix(failure.log_tail, "\n");
    lines.push_back(
        absl::StrCat("  | ", absl::StrReplaceAll(tail, {{"\n", "\n  | "}})));
  }
  if (!failure.advice.empty()) lines.push_back(failure.advice);
  return lines;
}

}  // namespace gandem
