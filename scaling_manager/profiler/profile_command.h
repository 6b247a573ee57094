// SPDX-License-Identifier: Apache-2.0
//
// `gandem profile`: asks its list of questions, the most informative first,
// until all are answered or the budget is over, and writes the file after each.
// The same command goes on where it stopped, and a profile that was measured on
// this machine before is taken from the cache.
//
// Owner: main. Thread safety: call once, from main, with SIGINT and SIGTERM
// blocked. Where a command hears these itself (InterruptibleReads), they are
// its own.
// Errors: each says what the user can do.
#pragma once

#include <iosfwd>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/programs/worker_program.h"
#include "proto/config.pb.h"
#include "proto/profile.pb.h"

namespace gandem {

struct ProfileRequest {
  // Complete, with the shape of its images known.
  RunConfig recipe = {};
  std::string output = {};
  WorkerProgram program = {};  // that can run the recipe's networks
  absl::Duration budget = absl::Minutes(5);
  int64_t memory_bytes = 0;  // of the workers; 0: most of what is free
  // The recipe's images are here: measures how fast they are decoded.
  bool measures_data = false;
  bool fresh = false;
};

//   FAILED_PRECONDITION  the output is a profile of another model, machine or
//                        version; or one of the roles could not be measured at
//                        all.
//   CANCELLED            a signal; what was measured is in the output.
//   those of files and of starting workers.
absl::Status RunProfile(const ProfileRequest& request, std::ostream& out);

// What `recipe`, with all that is told on the command line, and `python`
// (--python) ask for; the rest is as in a default request.
// Errors: those of KnowOwnNetworks and FindWorkerProgram.
absl::StatusOr<ProfileRequest> ProfileRequestFor(const RunConfig& recipe,
                                                 const std::string& python);

// For --plan AUTO where no whole one is kept: `recipe` measured into the
// folder, which is told on stdout.
absl::StatusOr<Profile> MeasureProfile(const RunConfig& recipe,
                                       const std::string& python,
                                       const std::string& folder);

}  // namespace gandem
