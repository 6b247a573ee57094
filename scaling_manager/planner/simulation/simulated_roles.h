// SPDX-License-Identifier: Apache-2.0
//
// The two roles in virtual time: the operations of exchange/schedule.h in
// their order, each for as long as the profile says, and the waits of
// generator_worker/ and discriminator_worker/ between them.
//
// Owner: the simulation. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "exchange/image_ledger.h"
#include "exchange/schedule.h"
#include "scaling_manager/planner/model/run_shape.h"
#include "scaling_manager/planner/simulation/simulated_exchange.h"
#include "scaling_manager/planner/simulation/simulated_sums.h"
#include "scaling_manager/planner/simulation/simulated_worker.h"

namespace gandem {

// What both roles share. All that it points to outlives the role.
struct RoleSurroundings {
  const RunShape* shape = nullptr;
  SimulatedExchange* exchange = nullptr;
  SimulatedNetwork* network = nullptr;
  EventQueue* queue = nullptr;
  SimulatedSums* gradients = nullptr;  // null: nothing to sum
  SimulatedSums* states = nullptr;     // null: nothing to average
  // What a rank's computing is multiplied by in a round.
  std::function<double(int64_t round)> jitter = {};
  std::function<void(int64_t round)> finished_round = {};
  std::function<void()> wake = {};  // this role's worker
  // How much of the network's computing takes the workers' cores, [0, 1].
  double network_share = 0;
};

class RankRole : public SimulatedRole {
 protected:
  // `images` are this rank's of a step.
  RankRole(const RoleShape* role, int rank, int64_t images,
           RoleSurroundings around);

  void BeginRound();
  void EndRound();
  // `cost` in this round.
  void ComputeNow(const ComputeCost& cost) { Compute(factor_ * cost); }
  // A backward pass of which gradients leave part by part.
  void ComputeLaunching(const ComputeCost& cost);
  // Sums, update, averages.
  void FinishStep();
  // At one end of what travels between this rank and one of the other role.
  ComputeCost NetworkCost(size_t from_process, size_t to_process,
                          int64_t bytes) const;

  const RoleShape* const role_;
  const int rank_;
  const int64_t images_;
  const RoleSurroundings around_;
  int64_t round_ = 0;
  double factor_ = 1;  // of this round's jitter

 private:
  ComputeCost SumCost() const;
  int64_t Passes() const;  // of a step

  int64_t summed_ = 0;  // planned steps
  int64_t updates_ = 0;
  int64_t averaged_ = 0;
};

class SimulatedGenerator : public RankRole {
 public:
  SimulatedGenerator(int rank, RoleSurroundings around);

 private:
  void PlanRound() override;
  void PlanSend(size_t op, ImageUse use, IndexRange range);
  void PlanTakeCritic(const GeneratorOp& op);
  void PlanTakeFeedback(const GeneratorOp& op);
  size_t ProcessOfDiscriminator(int rank) const {
    return around_.shape->discriminator.processes[rank];
  }

  // By operation: the parts of what it sends, the same in every round.
  std::map<size_t, std::vector<RankedRange>> parts_;
  // By first index of what is answered: the same parts.
  std::map<int64_t, const std::vector<RankedRange>*> asked_;
  int64_t loaded_critic_ = -1;
};

class SimulatedDiscriminator : public RankRole {
 public:
  // `decoders` are the cores that this rank has for real images, in part too.
  SimulatedDiscriminator(int rank, RoleSurroundings around, double decoders);

 private:
  void PlanRound() override;
  // EXACT: what is due before a round begins.
  void PlanBoundary();
  // BOUNDED: what can be given of this version.
  void PlanOffer(int64_t version);
  void PlanData();
  void PlanTake(const DiscriminatorOp& op);
  void PlanGenerated(const DiscriminatorOp& op, bool is_last);

  // For attempts: plans an answer, or the newest critic, and returns false
  // where there was something to give.
  bool HasAnswered(int64_t last_round);
  bool HasGiven(int64_t version);
  void AnswerTrained(int64_t round, IndexRange trained);
  ComputeCost CaptureCost() const;

  const double decoders_;
  const size_t maker_process_;  // of the images that it trains on
  const int64_t judged_;        // images that it answers in a round
  int num_takers_ = 0;          // of its critics
  int64_t answered_ = 0;
  int64_t published_ = -1;
  // FUSED: of the round in training.
  IndexSet trained_;
  std::vector<SimulatedExchange::Request> unanswered_;
  // Real batches: when the last was ready, and when those before were taken.
  double data_ready_ = 0;
  std::deque<double> data_taken_;
};

}  // namespace gandem
