// SPDX-License-Identifier: Apache-2.0
//
// `gandem doctor`: looks for what would end a run hours later, before it
// queues: one line a check, and what to do about it (docs/watching.md). What
// `gandem train` checks before it starts is checked by its own functions.
//
// Owner: main(). Thread safety: one thread, with SIGINT and SIGTERM blocked in
// all threads.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>

#include "absl/status/statusor.h"
#include "control_plane/doctor/doctor_options.h"
#include "control_plane/doctor/finding.h"
#include "proto/config.pb.h"
#include "proto/plan.pb.h"

namespace gandem {

// Something has to be mended first. EX_CONFIG of sysexits(3): no worker ends
// with it, so a batch script can tell.
inline constexpr int kExitFaults = 78;

// The run that `gandem train` would start.
struct DoctorSubject {
  RunConfig config = {};  // with its defaults
  std::optional<Candidate> plan = {};
};

struct DoctorHooks {
  // The checks of `gandem train`.
  std::function<absl::StatusOr<DoctorSubject>()> check_run;  // required
  // Bytes that a checkpoint of the run will take.
  std::function<absl::StatusOr<int64_t>(const RunConfig&)>
      predict_checkpoint;  // required
};

// The exit code: 0, or kExitFaults. Lines go to `out` as they are found.
//   INVALID_ARGUMENT  options that do not go together.
//   the system's error  --listen cannot be listened on.
absl::StatusOr<int> RunDoctor(const DoctorOptions& options,
                              const DoctorHooks& hooks, std::ostream& out);

}  // namespace gandem
