// SPDX-License-Identifier: Apache-2.0
//
// What a discriminator owes the generators between its own steps: critics
// (SNAPSHOT) or image gradients (IMAGE_GRADIENT), by the versions that the
// schedule names (design.md section 4), and the older critics that a restarted
// generator will ask for.
//
// Owner: the discriminator role. Thread safety: one compute thread.
// Errors: those of the exchange; DEADLINE_EXCEEDED means call again.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/checkpoint/safetensors.h"
#include "exchange/exchange.h"
#include "exchange/schedule.h"
#include "models/network.h"
#include "training/inputs/conditions.h"
#include "training/inputs/sources.h"
#include "training/roles/training_role.h"
#include "training/state/module_state.h"

namespace gandem {

class CriticDuties {
 public:
  // `network` is the one in training. `older_critic` judges in its place while
  // an older version is asked for; IMAGE_GRADIENT with a lag of 2 or more.
  // `real_images` are those of the generator's rounds, for losses that compare
  // with them when they judge (IMAGE_GRADIENT); else it is empty.
  // `exchange`, `gate` and `timer` outlive this.
  CriticDuties(RoleOptions options, std::shared_ptr<Discriminator> network,
               std::shared_ptr<Discriminator> older_critic,
               ConditionSource condition, RealImageSource real_images,
               DiscriminatorExchange* exchange, const RoundGate* gate,
               RoundTimer* timer);

  // Reads the older critics of a checkpoint.
  //   INVALID_ARGUMENT  one is missing or unknown.
  absl::Status Restore(const TensorReader& state);
  void SaveOlderCritics(StateShard& state) const;

  // `rounds` are completed, and the network is at that version.
  void EnterBoundary(int64_t rounds);
  // Does what is due before the next training forward. EXACT waits for the
  // generators' side of it; BOUNDED never waits.
  absl::Status Do(absl::Time deadline);
  // BOUNDED: offers the present version, after `steps` steps, to whoever wants
  // it; never waits.
  absl::Status ServeNewest(int64_t steps);

  // The last generator round that has to be answered at this boundary.
  int64_t feedback_due() const;

 private:
  bool exact() const {
    return options_.schedule.consistency == Consistency::kExact;
  }
  absl::Status PublishDue(absl::Time deadline);
  absl::Status AnswerDue(absl::Time deadline);
  absl::Status AnswerNext(int64_t due_round, absl::Time deadline);
  absl::Status TakeRealImages(int64_t round, absl::Time deadline);
  absl::Status Answer(const ImageBatch& images);

  const RoleOptions options_;
  const std::shared_ptr<Discriminator> network_;
  const std::shared_ptr<Discriminator> older_critic_;
  const ConditionSource condition_;
  const RealImageSource real_images_;
  DiscriminatorExchange* const exchange_;
  const RoundGate* const gate_;
  RoundTimer* const timer_;

  int64_t boundary_ = 0;  // rounds completed
  int64_t version_ = 0;   // steps completed
  // Critics of earlier boundaries that are still needed (lag of 2 or more), and
  // of this one.
  std::map<int64_t, CriticState> kept_;
  std::deque<CriticState> to_publish_;
  int64_t published_version_ = -1;
  int64_t answered_images_ = 0;  // since first_round
  // Taken from the exchange, not answered: its real images are not ready.
  std::optional<ImageBatch> request_;
  RealImages real_;     // of real_round_
  int64_t real_round_;  // the last round whose real images were taken
};

}  // namespace gandem
