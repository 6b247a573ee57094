// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "exchange/exchange_options.h"
#include "scaling_manager/planner/simulation/simulated_roles.h"

namespace gandem {

// --- Both roles ---

RankRole::RankRole(const RoleShape* role, int rank, int64_t images,
                   RoleSurroundings around)
    : role_(role), rank_(rank), images_(images), around_(std::move(around)) {}

void RankRole::BeginRound() {
  factor_ = around_.jitter ? around_.jitter(round_) : 1;
}

void RankRole::EndRound() {
  Do([this, round = round_] { around_.finished_round(round); });
  ++round_;
}

void RankRole::ComputeLaunching(const ComputeCost& cost) {
  if (around_.gradients == nullptr) {
    ComputeNow(cost);
    return;
  }
  const int parts = around_.gradients->parts();
  for (int part = 0; part < parts; ++part) {
    ComputeNow((1.0 / parts) * cost);
    Do([this, part] { around_.gradients->Launch(part); });
  }
}

void RankRole::FinishStep() {
  ComputeCost update = role_->times.Of(OperationTime::UPDATE, 1) +
                       role_->times.Rest(images_, Passes());
  if (around_.gradients != nullptr) {
    Await(RoleWait::kFleet, [this, step = ++summed_] {
      return around_.gradients->completed() >= step;
    });
    update += SumCost();
  }
  ComputeNow(update);
  ++updates_;
  if (around_.states == nullptr || updates_ % role_->sums.interval != 0) {
    return;
  }
  Do([this] { around_.states->Launch(0); });
  Await(RoleWait::kFleet, [this, average = ++averaged_] {
    return around_.states->completed() >= average;
  });
}

int64_t RankRole::Passes() const {
  const Schedule& schedule = around_.shape->schedule;
  const bool is_generator = role_->role == GENERATOR;
  const int64_t batches = is_generator ? schedule.generator_batches
                                       : schedule.discriminator_batches;
  return batches * std::ssize(MicroBatches(
                       {.count = images_ / batches},
                       is_generator ? schedule.generator_micro_batch
                                    : schedule.discriminator_micro_batch));
}

ComputeCost RankRole::NetworkCost(size_t from_process, size_t to_process,
                                  int64_t bytes) const {
  const double seconds =
      around_.network_share *
      around_.network->ComputeSeconds(from_process, to_process, bytes);
  return {.alone = seconds, .beside = seconds};
}

ComputeCost RankRole::SumCost() const {
  const LinkTimes& links = around_.shape->links;
  const LinkLine& line =
      around_.gradients->num_hosts() > 1 ? links.sum_network : links.sum_memory;
  const double seconds = around_.network_share * line.compute_seconds_per_byte /
                         2 *
                         static_cast<double>(role_->state.parameter_bytes()) *
                         role_->sums.wire_factor;
  return {.alone = seconds, .beside = seconds};
}

// --- The generator ---

SimulatedGenerator::SimulatedGenerator(int rank, RoleSurroundings around)
    : RankRole(&around.shape->generator, rank,
               RankImages(around.shape->schedule.generator_batch,
                          around.shape->schedule.generator_batches, rank,
                          around.shape->generator.size()),
               around) {}

void SimulatedGenerator::PlanRound() {
  using Kind = GeneratorOp::Kind;
  BeginRound();
  const Schedule& schedule = around_.shape->schedule;
  const std::vector<GeneratorOp> ops =
      GeneratorRound(schedule, round_, rank_, role_->size());
  for (size_t i = 0; i < ops.size(); ++i) {
    const GeneratorOp& op = ops[i];
    const ComputeCost cost = CostOf(op, schedule, role_->times);
    switch (op.kind) {
      case Kind::kMakeImages:
      case Kind::kForward:
        ComputeNow(cost);
        break;
      case Kind::kSendImages:
        PlanSend(i, ImageUse::kTrain, op.range);
        break;
      case Kind::kSendForward:
        PlanSend(i, schedule.StepImageUse(), op.range);
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
        // Judging comes first and makes no gradients of parameters.
        if (!schedule.AnswersImages()) {
          ComputeNow(role_->times.Of(OperationTime::JUDGE, op.range.count));
        }
        ComputeLaunching(
            role_->times.Of(OperationTime::BACKWARD, op.range.count));
        break;
      case Kind::kUpdate:
        FinishStep();
        break;
    }
  }
  EndRound();
}

// Images go to the rank that trains on them or judges them, as in
// exchange/fleet_exchange.h.
void SimulatedGenerator::PlanSend(size_t op, ImageUse use, IndexRange range) {
  const RunShape& shape = *around_.shape;
  const auto [found, is_new] = parts_.try_emplace(op);
  const std::vector<RankedRange>& parts = found->second;
  if (is_new) {
    found->second =
        use == ImageUse::kFeedback
            ? SplitByJudge(shape.schedule, range, shape.discriminator.size())
            : SplitByTrainer(shape.schedule, range, shape.discriminator.size());
    if (IsAnswered(use)) asked_[range.first] = &parts;
  }
  ComputeCost sending;
  for (const RankedRange& part : parts) {
    sending +=
        NetworkCost(role_->processes[rank_], ProcessOfDiscriminator(part.rank),
                    part.range.count * shape.image_bytes);
  }
  ComputeNow(sending);
  Await(RoleWait::kCache,
        [this, &parts, use, round = round_, next = size_t{0}]() mutable {
          while (next < parts.size() &&
                 around_.exchange->Put(rank_, parts[next].rank,
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
  const RunShape& shape = *around_.shape;
  const int source =
      CriticSource(rank_, role_->size(), shape.discriminator.size());
  const ComputeCost loading =
      factor_ *
      (CostOf(op, shape.schedule, role_->times) +
       NetworkCost(ProcessOfDiscriminator(source), role_->processes[rank_],
                   shape.discriminator.network_bytes()));
  Await(RoleWait::kOtherRole, [this, loading, version = op.critic_version] {
    const std::optional<int64_t> taken =
        around_.exchange->TakeCritic(rank_, version);
    if (!taken.has_value()) return false;
    if (*taken != loaded_critic_) First(loading, {});
    loaded_critic_ = *taken;
    return true;
  });
}

void SimulatedGenerator::PlanTakeFeedback(const GeneratorOp& op) {
  const RunShape& shape = *around_.shape;
  const std::vector<RankedRange>& parts = *asked_.at(op.range.first);
  ComputeCost taking = CostOf(op, shape.schedule, role_->times);
  for (const RankedRange& part : parts) {
    taking +=
        NetworkCost(ProcessOfDiscriminator(part.rank), role_->processes[rank_],
                    part.range.count * shape.feedback_bytes);
  }
  Await(RoleWait::kOtherRole, [this, &parts, round = round_,
                               next = size_t{0}]() mutable {
    while (next < parts.size() && around_.exchange->TakeAnswer(
                                      rank_, round, parts[next].range.first)) {
      ++next;
    }
    return next == parts.size();
  });
  ComputeNow(taking);
}

}  // namespace gandem
