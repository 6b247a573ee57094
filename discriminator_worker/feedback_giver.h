// SPDX-License-Identifier: Apache-2.0
//
// The discriminator's half of a feedback mode: what it owes the generators
// between its own steps, or of them, by the versions that the schedule names
// (design.md section 4). The other half is generator_worker/feedback_taker.h.
// What does not depend on the mode is here: where the discriminator is, and the
// older critics that a restarted generator will ask for.
//
// Owner: the discriminator role. Thread safety: one compute thread.
// Errors: those of the exchange; DEADLINE_EXCEEDED means call again. Torch
// exceptions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "exchange/exchange.h"
#include "exchange/schedule.h"
#include "models/network.h"
#include "training/compute/compute.h"
#include "training/inputs/conditions.h"
#include "training/inputs/sources.h"
#include "training/objective/critic.h"
#include "training/objective/fused.h"
#include "training/plan/run_plan.h"
#include "training/roles/training_role.h"
#include "training/state/module_state.h"
#include "training/state/state_shard.h"

namespace gandem {

class FeedbackGiver {
 public:
  // `plan`, `exchange`, `gate` and `timer` outlive this.
  struct Parts {
    const RunPlan& plan;
    EpochPlace place;
    Compute compute;                         // that of the role
    std::shared_ptr<Discriminator> network;  // the one in training
    CriticFactory new_critic;   // judges while an older version is asked for
    ConditionSource condition;  // for generated images
    // Real images by generator round, for losses that compare with real images;
    // empty for other losses.
    RealImageSource real_images;
    DiscriminatorExchange* exchange = nullptr;
    const RoundGate* gate = nullptr;
    RoundTimer* timer = nullptr;
  };

  explicit FeedbackGiver(Parts parts);
  virtual ~FeedbackGiver() = default;

  // Reads the older critics of a checkpoint.
  //   INVALID_ARGUMENT  one is missing or unknown.
  absl::Status Restore(const TensorReader& state);
  void SaveOlderCritics(StateShard& state) const;

  // `rounds` are completed, and the network is at that version.
  void EnterBoundary(int64_t rounds);
  // Gives what is due before the next training forward. EXACT waits for the
  // generators' side of it; BOUNDED never waits.
  absl::Status GiveDue(absl::Time deadline);
  // In BOUNDED mode, offers the network as the version after `steps` steps.
  // Never waits.
  absl::Status Offer(int64_t steps);

  // A micro-batch of generated images in training, from `first_index` of its
  // round. Its graph is there until GiveInTraining has returned.
  struct TrainedImages {
    int64_t round = 0;
    int64_t first_index = 0;
    const TrainingPass& pass;
  };
  // Does GiveInTraining need that images of training passes want a gradient?
  virtual bool WantsImageGradients() const { return false; }
  // Called after the forward pass. Calls `backward`, the backward pass of the
  // discriminator's loss, once, and gives the feedback from these passes. Never
  // waits.
  virtual absl::Status GiveInTraining(const TrainedImages& trained,
                                      absl::FunctionRef<void()> backward);

  // The last generator round that has to be answered at this boundary.
  int64_t last_round_due() const;

 protected:
  // EXACT: a boundary begins; all that is due at it.
  virtual void BeginBoundary() {}
  virtual absl::Status GiveAllDue(absl::Time deadline) = 0;
  // BOUNDED: what can be given without waiting, of this version.
  virtual absl::Status GiveNewest() = 0;

  bool exact() const { return schedule().IsExact(); }
  const Schedule& schedule() const { return parts_.plan.schedule(); }
  int64_t boundary() const { return boundary_; }
  int64_t version() const { return version_; }
  // The network as it is.
  const CriticState& Present();
  // Older versions of the critic, by boundary.
  const std::map<int64_t, CriticState>& older_critics() const { return older_; }

  const Parts parts_;

 private:
  int64_t boundary_ = 0;  // rounds completed
  int64_t version_ = 0;   // steps completed
  std::optional<CriticState> present_;
  // Critics of earlier boundaries that are still needed (lag of 2 or more), and
  // of this one.
  std::map<int64_t, CriticState> older_;
};

std::unique_ptr<FeedbackGiver> MakeSnapshotGiver(FeedbackGiver::Parts parts);
std::unique_ptr<FeedbackGiver> MakeImageGradientGiver(
    FeedbackGiver::Parts parts);
std::unique_ptr<FeedbackGiver> MakeFusedGiver(FeedbackGiver::Parts parts);

// Makes the giver of the run's feedback mode, at the boundary before the first
// round.
inline std::unique_ptr<FeedbackGiver> MakeFeedbackGiver(
    FeedbackGiver::Parts parts) {
  const int64_t first_round = parts.place.first_round;
  std::unique_ptr<FeedbackGiver> giver;
  switch (parts.plan.schedule().feedback) {
    case FeedbackMode::kSnapshot:
      giver = MakeSnapshotGiver(std::move(parts));
      break;
    case FeedbackMode::kImageGradient:
      giver = MakeImageGradientGiver(std::move(parts));
      break;
    case FeedbackMode::kFused:
      giver = MakeFusedGiver(std::move(parts));
      break;
  }
  giver->EnterBoundary(first_round);
  return giver;
}

}  // namespace gandem
