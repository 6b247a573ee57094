// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/launch/launcher.h"

#include <signal.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/config/role_name.h"
#include "common/files/file.h"
#include "common/process/exit_code.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr int kLauncherTailLines = 15;

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
          {key, *end, child.log_path(), child.LogTail(kLauncherTailLines)});
    }
    coordinator_->WorkerExited(key, end->exit_code, end->description);
    it = children_.erase(it);
  }
  const Coordinator::Wishes wishes = coordinator_->TakeWishes();
  for (const WorkerKey key : wishes.kill) {
    const auto child = children_.find(key);
    if (child != children_.end()) child->second.Signal(SIGKILL);
  }
  for (const WorkerKey key : wishes.start) {
    const absl::Status status = Start(key);
    if (status.ok()) continue;
    // A missing binary is missing at the next try, too.
    coordinator_->WorkerExited(key, ExitCodeOf(status),
                               std::string(status.message()));
  }
  return failures;
}

void Launcher::SignalAll(int signal) {
  signalled_ = true;
  for (auto& [key, child] : children_) child.Signal(signal);
}

}  // namespace gandem
