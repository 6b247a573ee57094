// SPDX-License-Identifier: Apache-2.0
//
// `gandem profile` asks its questions, the most informative first, until all
// are answered or the budget is over, and writes the file after each answer.
// The same command resumes an interrupted profile. Earlier measurements of this
// machine come from the cache.
// Owner: main. Thread safety: call once, from main, with SIGINT and SIGTERM
// blocked; a command that handles these signals itself (InterruptibleReads)
// keeps doing so.
// Errors: each message has the remedy.
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
  // The complete recipe, with the shape of its images known.
  RunConfig recipe = {};
  std::string output = {};
  WorkerProgram program = {};  // that can run the recipe's networks
  absl::Duration budget = absl::Minutes(5);
  // limit for the workers; 0: most of the free memory
  int64_t memory_bytes = 0;
  // Measures how fast images are decoded. Requires images on this machine.
  bool measures_data = false;
  bool fresh = false;
};

// Measures the profile that `request` asks for. Returns errors of files and of
// starting workers, and
//   FAILED_PRECONDITION  the output is a profile of another model, machine or
//       version; or a role could not be measured at all
//   CANCELLED  a signal arrived; the output has the measurements so far
absl::Status RunProfile(const ProfileRequest& request, std::ostream& out);

// Returns the request for `recipe`, with the flags of the command line applied,
// and `python` (--python). Other fields have their defaults. Returns errors of
// KnowOwnNetworks and FindWorkerProgram.
absl::StatusOr<ProfileRequest> ProfileRequestFor(const RunConfig& recipe,
                                                 const std::string& python);

// Measures `recipe` into `folder` for --plan AUTO if no complete profile is
// cached. Reports progress on stdout.
absl::StatusOr<Profile> MeasureProfile(const RunConfig& recipe,
                                       const std::string& python,
                                       const std::string& folder);

}  // namespace gandem
