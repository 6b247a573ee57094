// SPDX-License-Identifier: Apache-2.0
//
// The gradient noise scales that a run has measured: what larger batches are
// worth to a plan (docs/trials.md).
//
// Thread safety: any thread; reads files.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "scaling_manager/planner/quality/quality.h"

namespace gandem {

// `run_dir` is the folder of a run of the recipe's networks, losses and kinds
// of optimizers, whatever its images and devices.
//   INVALID_ARGUMENT     it holds no run; with line and column.
//   FAILED_PRECONDITION  the run is of another model, or has not measured
//                        enough yet; says what to do.
//   errors of files      there is none.
absl::StatusOr<NoiseScales> ReadNoiseScales(const RunConfig& recipe,
                                            const std::string& run_dir);

}  // namespace gandem
