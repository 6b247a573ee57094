// SPDX-License-Identifier: Apache-2.0
//
// Generator half of a feedback mode: takes feedback from the exchange and turns
// it into the gradient and loss of a micro-batch. The other half is
// discriminator_worker/feedback_giver.h. A mode is one file of each and a row
// in MakeFeedbackTaker and MakeFeedbackGiver.
//
// Owner: the generator role. Thread safety: one compute thread.
// Errors: those of the exchange (DEADLINE_EXCEEDED: call again); Torch
// exceptions.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "exchange/exchange.h"
#include "exchange/schedule.h"
#include "training/compute/compute.h"
#include "training/objective/critic.h"
#include "training/plan/run_plan.h"
#include "training/roles/training_role.h"

namespace gandem {

class FeedbackTaker {
 public:
  // `plan`, `exchange` and `timer` must outlive the taker.
  struct Parts {
    const RunPlan& plan;
    Compute compute;           // of the role
    CriticFactory new_critic;  // for modes that judge on the generator
    GeneratorExchange* exchange = nullptr;
    RoundTimer* timer = nullptr;
  };

  explicit FeedbackTaker(Parts parts) : parts_(std::move(parts)) {}
  virtual ~FeedbackTaker() = default;

  // Waits for the critic or feedback named by `op`.
  virtual absl::Status Take(const GeneratorOp& op, int64_t round,
                            absl::Time deadline) = 0;
  // Judges the micro-batch whose feedback was taken last, in the layout of the
  // role's computation. The caller may modify the gradient.
  virtual Judgment Judge(const JudgedImages& images) = 0;

  // Version of the critic whose feedback was taken last.
  int64_t critic_version() const { return critic_version_; }

 protected:
  const Parts parts_;
  int64_t critic_version_ = 0;
};

std::unique_ptr<FeedbackTaker> MakeSnapshotTaker(FeedbackTaker::Parts parts);
std::unique_ptr<FeedbackTaker> MakeImageGradientTaker(
    FeedbackTaker::Parts parts);

inline std::unique_ptr<FeedbackTaker> MakeFeedbackTaker(
    FeedbackTaker::Parts parts) {
  switch (parts.plan.schedule().feedback) {
    case FeedbackMode::kSnapshot:
      return MakeSnapshotTaker(std::move(parts));
    case FeedbackMode::kImageGradient:
    case FeedbackMode::kFused:
      return MakeImageGradientTaker(std::move(parts));
  }
  return nullptr;
}

}  // namespace gandem
