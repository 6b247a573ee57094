// SPDX-License-Identifier: Apache-2.0
//
// Both roles in virtual time: the operations of exchange/schedule.h in order,
// each with its time from the profile, and the waits of generator_worker/ and
// discriminator_worker/ between them.
// Owner: the simulation. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "exchange/image_ledger.h"
#include "exchange/schedule.h"
#include "scaling_manager/planner/model/run_shape.h"
#include "scaling_manager/planner/simulation/simulated_exchange.h"
#include "scaling_manager/planner/simulation/simulated_machines.h"
#include "scaling_manager/planner/simulation/simulated_run.h"
#include "scaling_manager/planner/simulation/simulated_worker.h"

namespace gandem {

struct SimulatedFleet {
  const RoleShape* role = nullptr;
  std::unique_ptr<SimulatedSums> gradients = {};  // null: nothing to sum
  std::unique_ptr<SimulatedSums> states = {};     // null: nothing to average
  std::vector<int> finishers = {};  // by round: number of ranks that ended it
  std::vector<double> ends = {};    // of the rounds that all ranks have ended

  void FinishRound(int64_t round, double now);
};

// Run with all of its parts, which point to each other.
struct Simulation {
  Simulation(const RunShape& run_shape, const SimulationOptions& run_options);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  const RunShape shape;
  const SimulationOptions options;
  EventQueue queue;
  SimulatedNetwork network;
  SimulatedExchange exchange;
  std::vector<std::unique_ptr<SimulatedHost>> hosts;
  std::vector<SimulatedWorker> workers;  // by process
  SimulatedFleet generators;
  SimulatedFleet discriminators;
  std::vector<std::unique_ptr<SimulatedRole>> roles;
};

class RankRole : public SimulatedRole {
 protected:
  // `images`: number of images of this rank per step.
  RankRole(Simulation* run, SimulatedFleet* fleet, int rank, int64_t images);

  void BeginRound();
  void EndRound();
  // Computes for `cost`, scaled by this round's jitter.
  void ComputeNow(const ComputeCost& cost) { Compute(factor_ * cost); }
  // Computes a backward pass whose gradients are sent part by part.
  void ComputeLaunching(const ComputeCost& cost);
  // Adds the sums, the update and the averages.
  void FinishStep();
  // Returns the cost at one end of a message to or from the other role.
  ComputeCost NetworkCost(size_t from_process, size_t to_process,
                          int64_t bytes) const;

  Simulation& run_;
  SimulatedFleet& fleet_;
  const RoleShape& role_;
  const RunShape& shape_;
  const Schedule& schedule_;
  const int rank_;
  const size_t process_;
  const int64_t images_;
  int64_t round_ = 0;
  double factor_ = 1;  // jitter of this round

 private:
  ComputeCost SumCost() const;
  int64_t Passes() const;  // per step

  // Share of the network's computing that takes time from the workers' cores.
  double network_share_ = 0;
  int64_t summed_ = 0;  // number of planned steps
  int64_t updates_ = 0;
  int64_t averaged_ = 0;
};

class SimulatedGenerator : public RankRole {
 public:
  SimulatedGenerator(Simulation* run, int rank);

 private:
  void PlanRound() override;
  void PlanSend(size_t op, ImageUse use, IndexRange range);
  void PlanTakeCritic(const GeneratorOp& op);
  void PlanTakeFeedback(const GeneratorOp& op);
  size_t ProcessOfDiscriminator(int rank) const {
    return shape_.discriminator.processes[rank];
  }

  // Parts of the images that an operation sends, equal in every round.
  std::map<size_t, std::vector<RankedRange>> parts_;
  // Parts of images with feedback, by their first index.
  std::map<int64_t, const std::vector<RankedRange>*> asked_;
  int64_t loaded_critic_ = -1;
};

class SimulatedDiscriminator : public RankRole {
 public:
  SimulatedDiscriminator(Simulation* run, int rank);

 private:
  void PlanRound() override;
  // Plans the feedback that is due before a round begins, for EXACT.
  void PlanBoundary();
  void PlanData();
  void PlanTake(const DiscriminatorOp& op);
  void PlanGenerated(const DiscriminatorOp& op, bool is_last);

  // Attempts: each plans an answer or the newest critic and returns false, or
  // returns true if there is nothing to give. HasGiven() is for BOUNDED.
  bool HasAnswered(int64_t last_round);
  bool HasGiven(int64_t version);
  void AnswerTrained(int64_t round, IndexRange trained);
  ComputeCost CaptureCost() const;

  double decoders_ = 0;       // cores for decoding, may be fractional
  size_t maker_process_ = 0;  // process that makes this rank's training images
  const int64_t judged_;      // images with feedback per round
  const int64_t num_takers_;  // number of generators that take its critics
  int64_t answered_ = 0;
  int64_t published_ = -1;
  // Images trained on in the current round, for FUSED.
  IndexSet trained_;
  std::vector<SimulatedExchange::Request> unanswered_;
  // Times at which the last real batch was ready, and earlier ones were taken.
  double data_ready_ = 0;
  std::deque<double> data_taken_;
};

}  // namespace gandem
