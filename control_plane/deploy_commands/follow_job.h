// SPDX-License-Identifier: Apache-2.0
//
// Shows what a job of Slurm does until it is over or the user leaves: its
// states as scontrol says them, and its log on the shared file system. It needs
// no connection to the nodes.
//
// Owner: `gandem launch`. Thread safety: one thread, with kLaunchSignals
// blocked.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "deploy/slurm/slurm_tools.h"

namespace gandem {

struct FollowedJob {
  int64_t job = 0;            // required
  std::string log_path = {};  // required: may not exist yet
  bool is_new = false;        // all of its log is news
};

// Returns the exit code: of a job that ran to its own end that of its script;
// 75 of one that was ended; 2 where its node does not see the log's folder; 0
// when a signal of kLaunchSignals asks to leave.
//   UNAVAILABLE  Slurm has said nothing of the job for five minutes.
absl::StatusOr<int> FollowSlurmJob(const FollowedJob& followed,
                                   SlurmTools& tools, std::ostream& out);

}  // namespace gandem
