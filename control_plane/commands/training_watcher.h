// SPDX-License-Identifier: Apache-2.0
//
// The `gandem watch-eval` that `gandem train --evaluate_every` starts beside
// the workers. It dies with `gandem train`; if it fails, training continues.
//
// Owner: `gandem train`. Thread safety: one thread, which must live as long as
// the child may (common/process/child_process.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/process/child_process.h"

namespace gandem {

class TrainingWatcher {
 public:
  struct Options {
    std::string binary_folder;    // required
    std::string run_dir;          // required
    int64_t every = 0;            // rounds, required
    std::vector<int> cores = {};  // empty: all, at the lowest priority
    std::string arguments = {};   // for `gandem evaluate`, space-separated
    std::string python = {};      // see WorkerProgram
  };

  // Starts the child. Returns errors of ChildProcess::Start, and
  //   INVALID_ARGUMENT  evaluation_job rejects the arguments; quotes its
  //       message
  //   DEADLINE_EXCEEDED  evaluation_job has not answered within minutes
  static absl::StatusOr<TrainingWatcher> Start(const Options& options);

  // Returns new lines of the child's log and rotates a long log. Never waits.
  std::vector<std::string> Poll();

  bool running() const { return running_; }

 private:
  TrainingWatcher(ChildProcess child, int64_t read)
      : child_(std::move(child)), read_(read) {}

  std::vector<std::string> TakeLines();

  ChildProcess child_;
  int64_t read_;  // bytes of the log already returned
  bool running_ = true;
};

}  // namespace gandem
