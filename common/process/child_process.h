// SPDX-License-Identifier: Apache-2.0
//
// A child process that cannot outlive us: the kernel kills it when the thread
// that started it ends, however that happens. It has a session of its own, so
// the terminal's Ctrl-C does not reach it, and writes into a log file or where
// we write.
//
// Owner: whoever needs its work. Start it from a thread that lives as long as
// it may.
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

// How a process ended.
struct ProcessEnd {
  int exit_code = 0;        // 128 + n for signal n
  std::string description;  // "exited with code 70", "was killed by signal 9"
};

class ChildProcess {
 public:
  struct Options {
    std::vector<std::string> arguments;  // required; [0] is the binary's path
    // Appended to, or rotated; empty: it writes where we do.
    std::string log_path = {};
    int input_fd = -1;            // its standard input; -1: /dev/null
    std::vector<int> cores = {};  // empty: those of the parent
    // Added to the parent's; 0 to 19. Kernels that share a processor between
    // sessions first (sched(7), autogroups) get it for the session, too.
    int niceness = 0;
    // "NAME=value", in place of the parent's of that name.
    std::vector<std::string> environment = {};
  };

  //   NOT_FOUND, PERMISSION_DENIED ...  the binary cannot be executed, or the
  //   log cannot be opened; the message names it.
  //   INVALID_ARGUMENT ...              it cannot run on these cores.
  static absl::StatusOr<ChildProcess> Start(const Options& options);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) = delete;
  // Kills and reaps what still runs.
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  // To the child and whatever it has started. Nothing once it has ended.
  void Signal(int signal);
  // Set when it has ended; never waits. Call it now and then: the kernel takes
  // the niceness of a session only once in a tenth of a second.
  std::optional<ProcessEnd> Poll();
  // DEADLINE_EXCEEDED: it still runs.
  absl::StatusOr<ProcessEnd> AwaitEnd(absl::Time deadline);

  // Last lines that the child has written, at most `max_lines`.
  std::string LogTail(int max_lines) const;
  const std::string& log_path() const { return log_path_; }
  // Bytes that the log had before this child.
  int64_t log_start() const { return log_start_; }
  // A log of more bytes becomes an older one (rotation.h), and what comes next
  // is at its beginning; whether one did. Call it now and then.
  bool TrimLog(int64_t max_bytes = kMaxLogBytes);

 private:
  ChildProcess(pid_t pid, const Options& options, off_t log_start);
  void LowerSession();

  pid_t pid_ = 0;
  bool running_ = true;
  int session_niceness_ = 0;  // still to be set; 0: none
  std::string log_path_;
  off_t log_start_ = 0;  // in the file of now
};

// Output of a process that has ended.
struct ProcessOutput {
  ProcessEnd end = {};
  std::string text = {};  // with standard error; its first MiB
};
// Starts it and waits. `options` have no log.
// Errors: those of Start; DEADLINE_EXCEEDED: it was killed.
absl::StatusOr<ProcessOutput> RunToEnd(ChildProcess::Options options,
                                       absl::Time deadline);

}  // namespace gandem
