// SPDX-License-Identifier: Apache-2.0
#include "library/program_run.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/monotonic_time.h"
#include "common/process/child_process.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr absl::Duration kLookInterval = absl::Milliseconds(20);
// Time for a checkpoint. `gandem` stops its workers earlier.
constexpr absl::Duration kTimeToStop = absl::Minutes(3);
constexpr int kLinesSaid = 12;

// If SIGCHLD is ignored, the kernel discards the exit status of children.
absl::Status CheckChildrenAreKept() {
  struct sigaction action = {};
  sigaction(SIGCHLD, nullptr, &action);
  const bool ignores =
      (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
  if (!ignores && (action.sa_flags & SA_NOCLDWAIT) == 0) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      "this process ignores SIGCHLD, so the exit status of a program is lost: "
      "call signal(SIGCHLD, SIG_DFL) before gandem::ScalingManager");
}

absl::Status TakenAway(const std::string& program) {
  return absl::FailedPreconditionError(absl::StrCat(
      "other code in this process has waited for '", program,
      "', so its exit status is lost: wait for your own children by their "
      "process ids, not for all (-1)"));
}

// Returns nullopt if the program still runs at `deadline`.
absl::StatusOr<std::optional<ProcessEnd>> EndBefore(absl::Time deadline,
                                                    const std::string& program,
                                                    ChildProcess& child) {
  while (true) {
    std::optional<ProcessEnd> end = child.Poll();
    if (end.has_value()) return end;
    // An ended process remains until someone waits for it, so other code has
    // waited for a missing one.
    if (kill(child.pid(), 0) != 0 && errno == ESRCH) return TakenAway(program);
    const absl::Time now = MonotonicNow();
    if (now >= deadline) return std::optional<ProcessEnd>();
    absl::SleepFor(std::min(kLookInterval, deadline - now));
  }
}

}  // namespace

absl::StatusOr<ProgramOutcome> RunProgram(const ProgramRun& run) {
  GANDEM_RETURN_IF_ERROR(CheckChildrenAreKept());
  const std::string& program = run.arguments.at(0);
  GANDEM_ASSIGN_OR_RETURN(
      ChildProcess child,
      ChildProcess::Start({.arguments = run.arguments,
                           .log_path = run.log_path,
                           .environment = run.environment}));
  ProgramOutcome outcome;
  GANDEM_ASSIGN_OR_RETURN(
      std::optional<ProcessEnd> end,
      EndBefore(MonotonicNow() + run.limit, program, child));
  if (!end.has_value()) {
    outcome.reached_limit = true;
    child.Signal(SIGTERM);
    GANDEM_ASSIGN_OR_RETURN(
        end, EndBefore(MonotonicNow() + kTimeToStop, program, child));
  }
  outcome.said = child.LogTail(kLinesSaid);
  if (!end.has_value()) {
    return absl::DeadlineExceededError(
        absl::StrCat("'", program, "' has not stopped within ",
                     absl::FormatDuration(kTimeToStop), " after its limit of ",
                     absl::FormatDuration(run.limit),
                     " and was killed; its log is ", run.log_path));
  }
  outcome.exit_code = end->exit_code;
  return outcome;
}

}  // namespace gandem
