// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/training_watcher.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/files/file.h"
#include "common/files/plain_file.h"
#include "common/files/rotation.h"
#include "common/monotonic_time.h"
#include "common/process/binary_folder.h"
#include "common/process/exit_code.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr int kLowestPriority = 19;
constexpr absl::Duration kCheckLimit = absl::Minutes(3);

void AppendParts(const std::string& text, std::vector<std::string>& arguments) {
  for (const auto part : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    arguments.emplace_back(part);
  }
}

// Lets evaluation_job check the arguments without opening their files.
absl::Status CheckArguments(const TrainingWatcher::Options& options) {
  if (options.arguments.empty()) return absl::OkStatus();
  GANDEM_ASSIGN_OR_RETURN(
      std::vector<std::string> arguments,
      ProgramCommand(options.binary_folder, "evaluation_job"));
  arguments.insert(arguments.end(),
                   {"evaluate", options.run_dir, "--check_arguments"});
  AppendParts(options.arguments, arguments);
  const auto said = RunToEnd({.arguments = std::move(arguments)},
                             MonotonicNow() + kCheckLimit);
  if (absl::IsDeadlineExceeded(said.status())) {
    return absl::DeadlineExceededError(
        absl::StrCat("evaluation_job has not checked --evaluate_args within ",
                     absl::FormatDuration(kCheckLimit)));
  }
  GANDEM_RETURN_IF_ERROR(said);
  if (said->end.exit_code == kExitOk) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--evaluate_args '", options.arguments,
                   "' are refused: ", absl::StripSuffix(said->text, "\n")));
}

}  // namespace

absl::StatusOr<TrainingWatcher> TrainingWatcher::Start(const Options& options) {
  GANDEM_RETURN_IF_ERROR(CheckArguments(options));
  std::vector<std::string> arguments = {options.binary_folder + "/gandem",
                                        "watch-eval",
                                        options.run_dir,
                                        "--every",
                                        absl::StrCat(options.every),
                                        "--"};
  if (!options.python.empty()) {
    arguments.insert(arguments.end(), {"--python", options.python});
  }
  AppendParts(options.arguments, arguments);
  GANDEM_RETURN_IF_ERROR(CreateDirectories(options.run_dir + "/logs"));
  const std::string log = options.run_dir + "/logs/watch-eval.log";
  auto child = ChildProcess::Start(
      {.arguments = std::move(arguments),
       .log_path = log,
       .cores = options.cores,
       .niceness = options.cores.empty() ? kLowestPriority : 0});
  GANDEM_RETURN_IF_ERROR(child);
  const int64_t start = child->log_start();
  return TrainingWatcher(*std::move(child), start);
}

std::vector<std::string> TrainingWatcher::TakeLines() {
  const std::string& path = child_.log_path();
  const auto fd = OpenPlainFile(path, "cannot open", O_RDONLY | O_CLOEXEC);
  if (!fd.ok()) return {};
  const absl::Cleanup close_file = [&fd] { close(*fd); };
  std::string text = ReadAt(*fd, path, read_, FileSize(path)).value_or("");
  // Leave an unfinished line to the next call.
  const size_t written = text.rfind('\n');
  if (written == std::string::npos) return {};
  read_ += static_cast<int64_t>(written) + 1;
  text.resize(written);
  return absl::StrSplit(text, '\n');
}

std::vector<std::string> TrainingWatcher::Poll() {
  if (!running_) return {};
  const std::optional<ProcessEnd> end = child_.Poll();
  std::vector<std::string> lines = TakeLines();
  if (child_.TrimLog()) read_ = 0;
  if (!end.has_value()) return lines;
  running_ = false;
  if (end->exit_code != kExitOk) {
    lines.push_back(absl::StrCat(
        "the evaluation of checkpoints ", end->description,
        "; the training goes on. `gandem watch-eval` evaluates the rest"));
  }
  return lines;
}

}  // namespace gandem
