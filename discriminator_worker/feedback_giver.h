// SPDX-License-Identifier: Apache-2.0
//
// Discriminator half of a feedback mode: gives feedback of the scheduled
// versions (design.md section 4), between steps or in them. Stores older
// critics for restarts. The other half: generator_worker/feedback_taker.h.
//
// Owner: the discriminator role. Thread safety: one compute thread.
// Errors: those of the exchange (DEADLINE_EXCEEDED: call again); Torch
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
  // `plan`, `exchange`, `gate` and `timer` must outlive the giver.
  struct Parts {
    const RunPlan& plan;
    EpochPlace place;
    Compute compute;                         // of the role
    std::shared_ptr<Discriminator> network;  // in training
    CriticFactory new_critic;                // to judge with older versions
    ConditionSource condition;               // for generated images
    // Real images by generator round for losses that use them; else empty.
    RealImageSource real_images;
    DiscriminatorExchange* exchange = nullptr;
    const RoundGate* gate = nullptr;
    RoundTimer* timer = nullptr;
  };

  explicit FeedbackGiver(Parts parts);
  virtual ~FeedbackGiver() = default;

  // Reads the older critics of a checkpoint.
  //   INVALID_ARGUMENT  a critic is missing or unknown
  absl::Status Restore(const TensorReader& state);
  void SaveOlderCritics(StateShard& state) const;

  // Records that `rounds` are completed, which defines the network's version.
  void EnterBoundary(int64_t rounds);
  // Gives feedback due before the next training forward pass. EXACT waits for
  // the generators; BOUNDED never waits.
  absl::Status GiveDue(absl::Time deadline);
  // BOUNDED: offers the version after `steps` steps. Never waits.
  absl::Status Offer(int64_t steps);

  // A micro-batch of generated images in training, from `first_index` of its
  // round. The graph must exist until GiveInTraining returns.
  struct TrainedImages {
    int64_t round = 0;
    int64_t first_index = 0;
    const TrainingPass& pass;
  };
  // Returns whether GiveInTraining needs image gradients of training passes.
  virtual bool WantsImageGradients() const { return false; }
  // Called after the forward pass. Calls `backward`, the backward pass of the
  // discriminator's loss, once, and gives its feedback. Never waits.
  virtual absl::Status GiveInTraining(const TrainedImages& trained,
                                      absl::FunctionRef<void()> backward);

  // Returns the last generator round to answer at this boundary.
  int64_t last_round_due() const;

 protected:
  // EXACT: start of a boundary, and all feedback due at it.
  virtual void BeginBoundary() {}
  virtual absl::Status GiveAllDue(absl::Time deadline) = 0;
  // BOUNDED: gives feedback of this version without waiting.
  virtual absl::Status GiveNewest() = 0;

  bool exact() const { return schedule().IsExact(); }
  const Schedule& schedule() const { return parts_.plan.schedule(); }
  int64_t boundary() const { return boundary_; }
  int64_t version() const { return version_; }
  // Returns the current network as a critic.
  const CriticState& Present();
  // Older versions of the critic, by boundary.
  const std::map<int64_t, CriticState>& older_critics() const { return older_; }

  const Parts parts_;

 private:
  int64_t boundary_ = 0;  // completed rounds
  int64_t version_ = 0;   // completed steps
  std::optional<CriticState> present_;
  // Critics of this and earlier boundaries that are still needed (lag >= 2).
  std::map<int64_t, CriticState> older_;
};

std::unique_ptr<FeedbackGiver> MakeSnapshotGiver(FeedbackGiver::Parts parts);
std::unique_ptr<FeedbackGiver> MakeImageGradientGiver(
    FeedbackGiver::Parts parts);
std::unique_ptr<FeedbackGiver> MakeFusedGiver(FeedbackGiver::Parts parts);

// Makes the giver of the feedback mode, at the first round's boundary.
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
