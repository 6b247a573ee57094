// SPDX-License-Identifier: Apache-2.0
//
// Runs one of gandem's programs as a child process.
//
// Owner: ScalingManager. Thread safety: any thread; blocks until the program
// ends. Errors: those of ChildProcess::Start.
//   FAILED_PRECONDITION  this process cannot get the exit status.
//   DEADLINE_EXCEEDED    the program had to be killed.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace gandem {

struct ProgramRun {
  std::vector<std::string> arguments;         // required; [0] is its path
  std::vector<std::string> environment = {};  // additional "NAME=value"
  std::string log_path;                       // required; gets the output
  absl::Duration limit = absl::InfiniteDuration();
};

struct ProgramOutcome {
  int exit_code = 0;
  std::string said;            // the last lines of the log
  bool reached_limit = false;  // the program was told to stop
};

// Sends SIGTERM after `limit`, and SIGKILL after kTimeToStop.
absl::StatusOr<ProgramOutcome> RunProgram(const ProgramRun& run);

}  // namespace gandem
