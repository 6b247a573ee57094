// SPDX-License-Identifier: Apache-2.0
//
// Resolves AUTO to the precision and layout in which a role's step is fastest
// on this machine. Each run measures once. Its checkpoints keep the choice,
// because it is part of the numerics.
//
// Thread safety: the compute thread.
// Errors: those of ComputeFrom and MeasureStep for the first candidate. Later
// candidates that this machine does not support are skipped.
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

// The candidates of a role, FLOAT32 and NCHW first. The list has one element if
// nothing is AUTO, and no FLOAT16 unless plan.may_be_float16.
std::vector<ComputeChoice> ComputeCandidates(const NetworkPlan& plan);

struct FastestOptions {
  // Candidates that have not been measured within this time are skipped. A step
  // in progress is finished.
  absl::Duration limit = absl::Seconds(20);
  int steps = 5;
};

// Measures all candidates, then the best of them again in several turns.
absl::StatusOr<ComputeChoice> FastestCompute(
    const NetworkPlan& plan, const FastestOptions& options = {});

bool IsAuto(const NetworkPlan& plan);

// Digest of everything that the choice depends on: the network, its batch, the
// candidates, and the processor of this machine (and its GPUs, if the network
// is on one). A choice made before the first checkpoint stays valid while the
// digest is the same.
std::string MeasuredFor(const NetworkPlan& plan);

// The choice that the first worker of a role makes for all of them.
// `resume_from` is the folder of a checkpoint, empty for a new run. For AUTO
// the choice is that of the checkpoint, else `made_before` (an earlier choice
// of this run with the same MeasuredFor), else it is measured.
//   DATA_LOSS  the checkpoint holds an invalid choice.
absl::StatusOr<ComputeChoice> ChooseCompute(
    const NetworkPlan& plan, const std::string& resume_from,
    const std::optional<ComputeChoice>& made_before = std::nullopt);

// The configured precision and layout, `choice` where they are AUTO.
ComputeChoice Resolve(const NetworkPlan& plan, const ComputeChoice& choice);

// The checkpoint entry for a choice; empty if nothing is AUTO.
TensorsByName ChoiceState(const NetworkPlan& plan, const ComputeChoice& choice);

std::string ToString(const ComputeChoice& choice);

}  // namespace gandem
