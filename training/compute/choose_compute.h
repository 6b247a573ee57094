// SPDX-License-Identifier: Apache-2.0
//
// Resolves AUTO to the precision and layout in which a role's step is fastest
// on this machine. Measured once per run; checkpoints keep the choice.
//
// Thread safety: the compute thread.
// Errors: those of ComputeFrom and MeasureStep for the first candidate. Skips
// later candidates that this machine does not support.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/config.pb.h"
#include "proto/metrics.pb.h"
#include "training/compute/measure_step.h"
#include "training/state/tensors_by_name.h"

namespace gandem {

// Returns the candidates of a role, FLOAT32 and NCHW first: only one if nothing
// is AUTO, and FLOAT16 only if plan.may_be_float16.
std::vector<ComputeChoice> ComputeCandidates(const NetworkPlan& plan);

struct FastestOptions {
  // Candidates not yet measured after this time are skipped.
  absl::Duration limit = absl::Seconds(20);
  int steps = 5;
};

// Measures all candidates, then the best ones again in several turns.
absl::StatusOr<ComputeChoice> FastestCompute(
    const NetworkPlan& plan, const FastestOptions& options = {});

bool IsAuto(const NetworkPlan& plan);

// Returns a digest of everything that the choice depends on: the network, its
// batch, the candidates, this machine's processor and, if used, its GPUs.
// Before the first checkpoint a choice is valid until the digest changes.
std::string MeasuredFor(const NetworkPlan& plan);

// Makes the choice for all workers of a role; called by the first worker.
// `resume_from` is the folder of a checkpoint, empty for a new run. AUTO is
// taken from the checkpoint, or else `made_before` (an earlier choice of this
// run with the same MeasuredFor), or else measured.
//   DATA_LOSS  the checkpoint contains an invalid choice.
absl::StatusOr<ComputeChoice> ChooseCompute(
    const NetworkPlan& plan, const std::string& resume_from,
    const std::optional<ComputeChoice>& made_before = std::nullopt);

// Returns the configured precision and layout, with `choice` in place of AUTO.
ComputeChoice Resolve(const NetworkPlan& plan, const ComputeChoice& choice);

// Returns the checkpoint entry for a choice; empty if nothing is AUTO.
TensorsByName ChoiceState(const NetworkPlan& plan, const ComputeChoice& choice);

std::string ToString(const ComputeChoice& choice);

}  // namespace gandem
