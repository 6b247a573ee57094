// SPDX-License-Identifier: Apache-2.0
//
// One of gandem's programs as a child process, from its start to its end.
//
// Owner: ScalingManager. Thread safety: any thread, which waits until the
// program has ended. Errors: those of ChildProcess::Start.
//   FAILED_PRECONDITION  this process would not learn of the end.
//   DEADLINE_EXCEEDED    it had to be killed.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace gandem {

struct ProgramRun {
  std::vector<std::string> arguments;         // required; [0] is its path
  std::vector<std::string> environment = {};  // "NAME=value", more than ours
  std::string log_path;                       // required; what it writes
  absl::Duration limit = absl::InfiniteDuration();
};

struct ProgramOutcome {
  int exit_code = 0;
  std::string said;            // the end of what it has written
  bool reached_limit = false;  // it was asked to stop
};

// After `limit` the program gets SIGTERM, and a while later SIGKILL.
absl::StatusOr<ProgramOutcome> RunProgram(const ProgramRun& run);

}  // namespace gandem
