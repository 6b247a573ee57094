// SPDX-License-Identifier: Apache-2.0
#include "control_plane/deploy_commands/follow_job.h"

#include <algorithm>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/files/file.h"
#include "common/files/printable.h"
#include "common/files/rotation.h"
#include "common/monotonic_time.h"
#include "common/process/exit_code.h"
#include "common/process/signals.h"
#include "common/status.h"
#include "control_plane/deploy_commands/launch_command.h"

namespace gandem {
namespace {

constexpr absl::Duration kFollowInterval = absl::Seconds(1);
constexpr absl::Duration kSlurmPatience = absl::Minutes(5);
constexpr int64_t kMaxFollowedBytes = 1 << 20;
// Of a job that this command finds at work.
constexpr int64_t kOldLogBytes = 2 << 10;
// Slurm's word for a script that has run, and has failed by itself.
constexpr char kItsOwnCode[] = "NonZeroExitCode";

// The user wants to leave.
class Leaving {
 public:
  void Set() {
    absl::MutexLock lock(&mu_);
    set_ = true;
  }
  // Waits for it, at most until `deadline`.
  bool Wait(absl::Time deadline) {
    absl::MutexLock lock(&mu_);
    AwaitUntil(&mu_, absl::Condition(&set_), deadline);
    return set_;
  }

 private:
  absl::Mutex mu_;
  bool set_ ABSL_GUARDED_BY(mu_) = false;
};

class Follower {
 public:
  Follower(const FollowedJob& followed, SlurmTools& tools, std::ostream& out)
      : followed_(followed),
        tools_(tools),
        out_(out),
        shown_bytes_(followed.is_new
                         ? 0
                         : std::max<int64_t>(0, FileSize(followed.log_path) -
                                                    kOldLogBytes)) {}

  absl::StatusOr<int> Run(Leaving& leaving);

 private:
  void Say(const std::string& line) {
    out_ << PrintableText(line) << std::endl;
  }
  void ShowLog();
  void ShowState(const SlurmJobState& state);
  int End(const SlurmJobState& state);
  int EndWithoutLog(const SlurmJobState& state);

  const FollowedJob followed_;
  SlurmTools& tools_;
  std::ostream& out_;
  int64_t shown_bytes_;
  std::string shown_state_;
};

void Follower::ShowLog() {
  const auto text =
      ReadFileTail(followed_.log_path, kMaxFollowedBytes, shown_bytes_);
  const size_t end = text.ok() ? text->rfind('\n') : std::string::npos;
  // A line that is being written comes later.
  if (end == std::string::npos) return;
  shown_bytes_ += static_cast<int64_t>(end) + 1;
  Say(text->substr(0, end));
}

void Follower::ShowState(const SlurmJobState& state) {
  const std::string text =
      state.reason.empty() || state.reason == "None"
          ? state.state
          : absl::StrCat(state.state, " (", state.reason, ")");
  if (text == shown_state_) return;
  shown_state_ = text;
  Say(absl::StrCat(
      "job ", followed_.job, " is ", text,
      state.restarts > 0 ? absl::StrCat(", restart ", state.restarts) : ""));
}

// Slurm opens the log on the script's node, before the script. What it says of
// a node that has no such folder is FAILED and a signal of its own.
int Follower::EndWithoutLog(const SlurmJobState& state) {
  Say(absl::StrCat("job ", followed_.job, " wrote nothing to ",
                   followed_.log_path, ": does ",
                   state.node.empty() ? "its first node" : state.node,
                   " see that folder? All nodes have to share the run folder"));
  return state.reason == kItsOwnCode ? state.exit_code : kExitUsage;
}

int Follower::End(const SlurmJobState& state) {
  ShowLog();
  if (state.state == "FAILED" && !PathExists(followed_.log_path)) {
    return EndWithoutLog(state);
  }
  if (state.state == "COMPLETED" || state.state == "FAILED") {
    return state.exit_code;
  }
  Say(absl::StrCat("it has not ended by itself; its log is ",
                   followed_.log_path,
                   ". The same command goes on from the newest checkpoint"));
  return kExitResumable;
}

absl::StatusOr<int> Follower::Run(Leaving& leaving) {
  Say(absl::StrCat("Ctrl-C leaves job ", followed_.job,
                   " running: the same command shows it again, `scancel ",
                   followed_.job, "` ends it with a checkpoint"));
  absl::Time last_answer = MonotonicNow();
  while (true) {
    ShowLog();
    const absl::StatusOr<SlurmJobState> state = tools_.JobState(followed_.job);
    const absl::Time now = MonotonicNow();
    if (state.ok()) {
      last_answer = now;
      ShowState(*state);
      if (state->is_over()) return End(*state);
    } else if (now - last_answer > kSlurmPatience) {
      return absl::UnavailableError(absl::StrCat(
          "Slurm has said nothing of job ", followed_.job, " for ",
          absl::FormatDuration(kSlurmPatience), " (", state.status().message(),
          "); `gandem status` on the run folder ", "knows how far it is"));
    }
    if (leaving.Wait(now + kFollowInterval)) {
      Say(absl::StrCat("job ", followed_.job, " goes on"));
      return kExitOk;
    }
  }
}

}  // namespace

absl::StatusOr<int> FollowSlurmJob(const FollowedJob& followed,
                                   SlurmTools& tools, std::ostream& out) {
  Leaving leaving;
  const SignalThread signals(SignalsToHear(kLaunchSignals),
                             [&](int) { leaving.Set(); });
  return Follower(followed, tools, out).Run(leaving);
}

}  // namespace gandem
