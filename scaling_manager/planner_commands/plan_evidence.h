// SPDX-License-Identifier: Apache-2.0
//
// What a plan knows of quality besides the study of docs/quality.md: trials of
// the recipe, and the gradient noise scales that a run has measured
// (docs/trials.md).
//
// Thread safety: any thread; reads files.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "scaling_manager/planner/quality/quality.h"

namespace gandem {

// `trials` is the folder of a study, `noise_run` that of a run; empty: none.
// Both are of the recipe's networks, losses and kinds of optimizers, whatever
// their images and devices.
//   INVALID_ARGUMENT     no study or no run, with line and column.
//   FAILED_PRECONDITION  it is of another model, or nothing can be learned of
//   it
//                        yet; says what to do.
//   errors of files      there is none.
absl::StatusOr<QualityEvidence> ReadEvidence(const RunConfig& recipe,
                                             const std::string& trials,
                                             const std::string& noise_run);

}  // namespace gandem
