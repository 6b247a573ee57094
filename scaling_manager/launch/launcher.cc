// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/launch/launcher.h"

#include <signal.h>

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/config/role_name.h"
#include "common/files/file.h"
#include "common/monotonic_time.h"
#include "common/process/exit_code.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr size_t kLauncherTailLines = 15;
constexpr int kWithBacktraceLines = 150;
constexpr absl::Duration kTrimInterval = absl::Minutes(1);

// The end of a log for people: LibTorch's exceptions bring 30 frames along,
// which would leave no room for what they say.
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

// Nobody but the kernel, or a person, sends SIGKILL to a worker that we do not
// kill ourselves.
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

std::string WorkerBinary(Role role) {
  return absl::StrCat(RoleName(role), "_worker");
}

absl::Status Launcher::Start(WorkerKey key) {
  const std::string logs = absl::StrCat(options_.run_dir, "/logs");
  GANDEM_RETURN_IF_ERROR(CreateDirectories(logs));
  std::vector<std::string> arguments = {
      absl::StrCat(options_.binary_folder, "/", WorkerBinary(key.role)),
      "--control", options_.control_address, "--rank", absl::StrCat(key.rank)};
  arguments.insert(arguments.end(), options_.credential_flags.begin(),
                   options_.credential_flags.end());
  if (!options_.trace_folder.empty()) {
    arguments.insert(arguments.end(), {"--trace", options_.trace_folder});
  }
  const auto cores = options_.cores.find(key);
  auto child = ChildProcess::Start(
      {.arguments = std::move(arguments),
       .log_path =
           absl::StrCat(logs, "/", RoleName(key.role), "-", key.rank, ".log"),
       .cores =
           cores == options_.cores.end() ? std::vector<int>() : cores->second});
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
    coordinator_->WorkerExited(key, end->exit_code, end->description);
    it = children_.erase(it);
  }
  const Coordinator::Wishes wishes = coordinator_->TakeWishes();
  for (const WorkerKey key : wishes.kill) {
    const auto child = children_.find(key);
    if (child == children_.end()) continue;
    killed_.insert(key);
    child->second.Signal(SIGKILL);
  }
  for (const WorkerKey key : wishes.start) {
    const absl::Status status = Start(key);
    if (status.ok()) continue;
    // A missing binary is missing at the next try, too.
    coordinator_->WorkerExited(key, ExitCodeOf(status),
                               std::string(status.message()));
  }
  TrimLogs();
  return failures;
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

}  // namespace gandem
