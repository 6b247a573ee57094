// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "common/philox.h"
#include "exchange/exchange_options.h"
#include "scaling_manager/planner/simulation/simulated_roles.h"

namespace gandem {

// --- Both roles ---

RankRole::RankRole(Simulation* run, SimulatedFleet* fleet, int rank,
                   int64_t images)
    : run_(*run),
      fleet_(*fleet),
      role_(*fleet->role),
      shape_(run->shape),
      schedule_(run->shape.schedule),
      rank_(rank),
      process_(role_.processes[rank]),
      images_(images) {
  const size_t host = shape_.HostOf(role_, rank);
  if (shape_.hosts[host].has_devices) return;
  network_share_ = std::min(1.0, static_cast<double>(shape_.ThreadsOn(host)) /
                                     shape_.hosts[host].cores);
}

void RankRole::BeginRound() {
  const double sigma = run_.options.jitter;
  if (sigma <= 0) return;
  // Lognormal with mean 1.
  PhiloxStream stream(
      run_.options.seed, Purpose::kSimulatedJitter,
      static_cast<uint64_t>(round_),
      static_cast<uint64_t>(role_.role) << 32 | static_cast<uint64_t>(rank_));
  factor_ = std::exp(sigma * stream.NextNormal() - sigma * sigma / 2);
}

void RankRole::EndRound() {
  Do([this, round = round_] { fleet_.FinishRound(round, run_.queue.now()); });
  ++round_;
}

void RankRole::ComputeLaunching(const ComputeCost& cost) {
  if (fleet_.gradients == nullptr) {
    ComputeNow(cost);
    return;
  }
  const int parts = fleet_.gradients->parts();
  for (int part = 0; part < parts; ++part) {
    ComputeNow((1.0 / parts) * cost);
    Do([this, part] { fleet_.gradients->Launch(part); });
  }
}

void RankRole::FinishStep() {
  ComputeCost update = role_.times.Of(OperationTime::UPDATE, 1) +
                       role_.times.Rest(images_, Passes());
  if (fleet_.gradients != nullptr) {
    Await(RoleWait::kFleet, [this, step = ++summed_] {
      return fleet_.gradients->completed() >= step;
    });
    update += SumCost();
  }
  ComputeNow(update);
  ++updates_;
  if (fleet_.states == nullptr || updates_ % role_.sums.interval != 0) {
    return;
  }
  Do([this] { fleet_.states->Launch(0); });
  Await(RoleWait::kFleet, [this, average = ++averaged_] {
    return fleet_.states->completed() >= average;
  });
}

int64_t RankRole::Passes() const {
  const bool is_generator = role_.role == GENERATOR;
  const int64_t batches = is_generator ? schedule_.generator_batches
                                       : schedule_.discriminator_batches;
  return batches * std::ssize(MicroBatches(
                       {.count = images_ / batches},
                       is_generator ? schedule_.generator_micro_batch
                                    : schedule_.discriminator_micro_batch));
}

ComputeCost RankRole::NetworkCost(size_t from_process, size_t to_process,
                                  int64_t bytes) const {
  const double seconds = network_share_ * run_.network.ComputeSeconds(
                                              from_process, to_process, bytes);
  return {.alone = seconds, .beside = seconds};
}

ComputeCost RankRole::SumCost() const {
  const LinkTimes& links = shape_.links;
  const LinkLine& line =
      fleet_.gradients->num_hosts() > 1 ? links.sum_network : links.sum_memory;
  const double seconds = network_share_ * line.compute_seconds_per_byte / 2 *
                         static_cast<double>(role_.state.parameter_bytes()) *
                         role_.sums.wire_factor;
  return {.alone = seconds, .beside = seconds};
}

// --- The generator ---

SimulatedGenerator::SimulatedGenerator(Simulation* run, int rank)
    : RankRole(run, &run->generators, rank,
               RankImages(run->shape.schedule.generator_batch,
                          run->shape.schedule.generator_batches, rank,
                          run->shape.generator.size())) {}

void SimulatedGenerator::PlanRound() {
  using Kind = GeneratorOp::Kind;
  BeginRound();
  const std::vector<GeneratorOp> ops =
      GeneratorRound(schedule_, round_, rank_, role_.size());
  for (size_t i = 0; i < ops.size(); ++i) {
    const GeneratorOp& op = ops[i];
    const ComputeCost cost = CostOf(op, schedule_, role_.times);
    switch (op.kind) {
      case Kind::kMakeImages:
      case Kind::kForward:
        ComputeNow(cost);
        break;
      case Kind::kSendImages:
        PlanSend(i, ImageUse::kTrain, op.range);
        break;
      case Kind::kSendForward:
        PlanSend(i, schedule_.StepImageUse(), op.range);
        break;
      case Kind::kTakeCritic:
        PlanTakeCritic(op);
        break;
      case Kind::kTakeFeedback:
        PlanTakeFeedback(op);
        break;
      case Kind::kBackward:
        if (ops[i + 1].kind != Kind::kUpdate) {
          ComputeNow(cost);
          break;
        }
        // The critic's passes come first and make no gradients of parameters.
        if (!schedule_.AnswersImages()) {
          ComputeNow(role_.times.Of(OperationTime::JUDGE, op.range.count));
        }
        ComputeLaunching(
            role_.times.Of(OperationTime::BACKWARD, op.range.count));
        break;
      case Kind::kUpdate:
        FinishStep();
        break;
    }
  }
  EndRound();
}

// Sends images to the ranks that use them, like exchange/fleet_exchange.h.
void SimulatedGenerator::PlanSend(size_t op, ImageUse use, IndexRange range) {
  const auto [found, is_new] = parts_.try_emplace(op);
  const std::vector<RankedRange>& parts = found->second;
  if (is_new) {
    found->second =
        use == ImageUse::kFeedback
            ? SplitByJudge(schedule_, range, shape_.discriminator.size())
            : SplitByTrainer(schedule_, range, shape_.discriminator.size());
    if (IsAnswered(use)) asked_[range.first] = &parts;
  }
  ComputeCost sending;
  for (const RankedRange& part : parts) {
    sending += NetworkCost(process_, ProcessOfDiscriminator(part.rank),
                           part.range.count * shape_.image_bytes);
  }
  ComputeNow(sending);
  Await(RoleWait::kCache,
        [this, &parts, use, round = round_, next = size_t{0}]() mutable {
          while (next < parts.size() &&
                 run_.exchange.Put(rank_, parts[next].rank,
                                   {.use = use,
                                    .round = round,
                                    .first_index = parts[next].range.first,
                                    .count = parts[next].range.count,
                                    .generator_version = round})) {
            ++next;
          }
          return next == parts.size();
        });
}

void SimulatedGenerator::PlanTakeCritic(const GeneratorOp& op) {
  const int source =
      CriticSource(rank_, role_.size(), shape_.discriminator.size());
  const ComputeCost loading =
      factor_ * (CostOf(op, schedule_, role_.times) +
                 NetworkCost(ProcessOfDiscriminator(source), process_,
                             shape_.discriminator.network_bytes()));
  Await(RoleWait::kOtherRole, [this, loading, version = op.critic_version] {
    const std::optional<int64_t> taken =
        run_.exchange.TakeCritic(rank_, version);
    if (!taken.has_value()) return false;
    if (*taken != loaded_critic_) First(loading, {});
    loaded_critic_ = *taken;
    return true;
  });
}

void SimulatedGenerator::PlanTakeFeedback(const GeneratorOp& op) {
  const std::vector<RankedRange>& parts = *asked_.at(op.range.first);
  ComputeCost taking = CostOf(op, schedule_, role_.times);
  for (const RankedRange& part : parts) {
    taking += NetworkCost(ProcessOfDiscriminator(part.rank), process_,
                          part.range.count * shape_.feedback_bytes);
  }
  Await(RoleWait::kOtherRole, [this, &parts, round = round_,
                               next = size_t{0}]() mutable {
    while (next < parts.size() &&
           run_.exchange.TakeAnswer(rank_, round, parts[next].range.first)) {
      ++next;
    }
    return next == parts.size();
  });
  ComputeNow(taking);
}

}  // namespace gandem
