// SPDX-License-Identifier: Apache-2.0
//
// A child process that cannot outlive its parent: the kernel kills it when the
// thread that started it ends. It has its own session, so the terminal's Ctrl-C
// does not reach it. Its output goes to a log file or to the parent's output.
//
// Owner: any object. Start the child from a thread that lives at least as long.
// Thread safety: one thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/files/rotation.h"

namespace gandem {

struct ProcessEnd {
  int exit_code = 0;        // 128 + n for signal n
  std::string description;  // "exited with code 70", "was killed by signal 9"
};

class ChildProcess {
 public:
  struct Options {
    std::vector<std::string> arguments;  // required; [0] is the binary's path
    // Appended to, or rotated if large. Empty: the parent's output.
    std::string log_path = {};
    int input_fd = -1;            // standard input; -1: /dev/null
    std::vector<int> cores = {};  // empty: the parent's
    // Added to the parent's niceness, 0 to 19. Also applied to the session,
    // because kernels with autogroups (sched(7)) share processors between
    // sessions first.
    int niceness = 0;
    // Overrides "NAME=value" in the parent's environment.
    std::vector<std::string> environment = {};
  };

  //   NOT_FOUND, PERMISSION_DENIED ...  the binary cannot be executed or the
  //   log cannot be opened; the message names it
  //   INVALID_ARGUMENT ...  the cores are not available
  static absl::StatusOr<ChildProcess> Start(const Options& options);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) = delete;
  // Kills and reaps the child if it is still running.
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  // Sends `signal` to the child and its descendants, unless the child has
  // ended.
  void Signal(int signal);
  // Returns the end of the child if it has ended; never waits. Call it
  // regularly: the kernel accepts a session's niceness only ten times a second.
  std::optional<ProcessEnd> Poll();
  // Returns DEADLINE_EXCEEDED if the child is still running.
  absl::StatusOr<ProcessEnd> AwaitEnd(absl::Time deadline);

  // Returns the last lines of the child's log, at most `max_lines`.
  std::string LogTail(int max_lines) const;
  const std::string& log_path() const { return log_path_; }
  // Size of the log in bytes when this child started.
  int64_t log_start() const { return log_start_; }
  // Rotates a log above `max_bytes`; returns whether. Call it regularly.
  bool TrimLog(int64_t max_bytes = kMaxLogBytes);

 private:
  ChildProcess(pid_t pid, const Options& options, off_t log_start);
  void LowerSession();

  pid_t pid_ = 0;
  bool running_ = true;
  int session_niceness_ = 0;  // still to be set; 0: none
  std::string log_path_;
  off_t log_start_ = 0;  // in the current file
};

struct ProcessOutput {
  ProcessEnd end = {};
  std::string text = {};  // first MiB of output and errors
};
// Starts a process and waits for its end. `options` must not name a log.
// Errors: those of Start; DEADLINE_EXCEEDED  the process was killed
absl::StatusOr<ProcessOutput> RunToEnd(ChildProcess::Options options,
                                       absl::Time deadline);

}  // namespace gandem
