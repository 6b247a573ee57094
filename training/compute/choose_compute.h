// SPDX-License-Identifier: Apache-2.0
//
// What AUTO becomes: the precision and the layout in which a role's step is
// fastest on this machine. Measured once for a run; its checkpoints keep the
// choice, because it is part of the numerics.
//
// Thread safety: the compute thread.
// Errors: those of ComputeFrom and MeasureStep for the first candidate; others
// that this machine cannot do are left out.
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

// The candidates of a role, FLOAT32 and NCHW first. One where nothing is AUTO;
// without FLOAT16 where the run may not have it.
std::vector<ComputeChoice> ComputeCandidates(const NetworkPlan& plan);

struct FastestOptions {
  // Candidates that have not had their turn by then are left out. A step that
  // was begun is finished.
  absl::Duration limit = absl::Seconds(20);
  int steps = 5;
};

// Measures all candidates and then the best of them again, adding up turns.
absl::StatusOr<ComputeChoice> FastestCompute(
    const NetworkPlan& plan, const FastestOptions& options = {});

bool IsAuto(const NetworkPlan& plan);

// For what AUTO was measured: a choice that was made before the first
// checkpoint holds as long as nothing that could change it has changed. A
// digest of the network, its batch, what may be chosen for it and the kind of
// this machine: its processor, and its GPUs if the network is on one.
std::string MeasuredFor(const NetworkPlan& plan);

// The choice of a role's first worker, and so of all, that starts from the
// checkpoint in this folder (empty: a new run). Where AUTO is asked for and the
// checkpoint does not say, it is `made_before`, in this run and for the same
// (MeasuredFor); only without that it measures.
//   DATA_LOSS  the checkpoint's choice is none.
absl::StatusOr<ComputeChoice> ChooseCompute(
    const NetworkPlan& plan, const std::string& resume_from,
    const std::optional<ComputeChoice>& made_before = std::nullopt);

// The configured precision and layout, `choice` where they are AUTO.
ComputeChoice Resolve(const NetworkPlan& plan, const ComputeChoice& choice);

// What a checkpoint keeps of a choice; nothing where nothing is AUTO.
TensorsByName ChoiceState(const NetworkPlan& plan, const ComputeChoice& choice);

std::string ToString(const ComputeChoice& choice);

}  // namespace gandem
