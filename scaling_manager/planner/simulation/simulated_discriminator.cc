// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "scaling_manager/planner/simulation/simulated_roles.h"

namespace gandem {
namespace {

// Share of the forward pass in the floating-point operations of a training
// pass; the backward pass, which produces the gradients, takes two thirds.
constexpr double kForwardPart = 1.0 / 3;

}  // namespace

SimulatedDiscriminator::SimulatedDiscriminator(Simulation* run, int rank)
    : RankRole(run, &run->discriminators, rank,
               RankImages(run->shape.schedule.discriminator_batch,
                          run->shape.schedule.discriminator_batches, rank,
                          run->shape.discriminator.size())),
      judged_(ImagesJudgedBy(schedule_, rank, role_.size())),
      num_takers_(run->exchange.num_takers(rank)) {
  const int64_t first =
      RankSlices(schedule_.discriminator_batch, schedule_.discriminator_batches,
                 rank, role_.size())
          .front()
          .first;
  maker_process_ =
      shape_.generator
          .processes[MakerOf(schedule_, first, shape_.generator.size())];
  // The discriminators of a host share its free cores.
  const size_t host = shape_.HostOf(role_, rank);
  int ranks = 0;
  for (int other = 0; other < role_.size(); ++other) {
    ranks += shape_.HostOf(role_, other) == host ? 1 : 0;
  }
  decoders_ = std::max(0.0, run->hosts[host]->free_cores() / ranks);
}

void SimulatedDiscriminator::PlanRound() {
  using Kind = DiscriminatorOp::Kind;
  BeginRound();
  const int64_t steps = schedule_.discriminator_steps_per_round;
  if (schedule_.IsExact()) {
    PlanBoundary();
  } else {
    Await(RoleWait::kOtherRole,
          [this, version = round_ * steps] { return HasGiven(version); });
  }
  const std::vector<DiscriminatorOp> ops =
      DiscriminatorRound(schedule_, rank_, role_.size());
  int64_t begun = -1;
  for (size_t i = 0; i < ops.size(); ++i) {
    const DiscriminatorOp& op = ops[i];
    const bool is_pass = op.kind == Kind::kReal || op.kind == Kind::kGenerated;
    if (is_pass && begun != op.step) {
      begun = op.step;
      PlanData();
    }
    const bool is_last = is_pass && ops[i + 1].kind == Kind::kUpdate;
    switch (op.kind) {
      case Kind::kReal: {
        const ComputeCost cost = CostOf(op, role_.times);
        if (is_last) {
          ComputeNow(kForwardPart * cost);
          ComputeLaunching((1 - kForwardPart) * cost);
        } else {
          ComputeNow(cost);
        }
        break;
      }
      case Kind::kTake:
        PlanTake(op);
        break;
      case Kind::kGenerated:
        PlanGenerated(op, is_last);
        break;
      case Kind::kUpdate:
        FinishStep();
        break;
    }
  }
  Do([this, round = round_] {
    run_.exchange.FinishRound(rank_, round);
    trained_ = IndexSet();
  });
  EndRound();
}

// --- Feedback for the generators ---

ComputeCost SimulatedDiscriminator::CaptureCost() const {
  ComputeCost cost = role_.times.Of(OperationTime::CAPTURE_CRITIC, 1);
  if (num_takers_ > 0) {
    cost += static_cast<double>(num_takers_) *
            NetworkCost(process_, maker_process_, role_.network_bytes());
  }
  return factor_ * cost;
}

// Mirrors the givers in discriminator_worker/feedback_giver.h.
void SimulatedDiscriminator::PlanBoundary() {
  const int64_t due = schedule_.LastRoundJudgedBy(round_);
  if (schedule_.JudgesInTraining() || due < 0) return;
  if (schedule_.AnswersImages()) {
    Await(RoleWait::kOtherRole, [this, due] {
      if (answered_ >= (due + 1) * judged_) return true;
      HasAnswered(due);
      return false;
    });
    return;
  }
  Compute(CaptureCost());
  const int64_t version = round_ * schedule_.discriminator_steps_per_round;
  Await(RoleWait::kOtherRole,
        [this, version] { return run_.exchange.Publish(rank_, version); });
}

bool SimulatedDiscriminator::HasGiven(int64_t version) {
  if (schedule_.AnswersImages()) {
    return HasAnswered(run_.exchange.NewestJudgedRound(rank_));
  }
  if (published_ == version) return true;
  published_ = version;
  // The newest critic replaces one that was not sent yet.
  First(CaptureCost(),
        [this, version] { run_.exchange.Publish(rank_, version); });
  return false;
}

bool SimulatedDiscriminator::HasAnswered(int64_t last_round) {
  const std::optional<SimulatedExchange::Request> request =
      run_.exchange.NextRequest(rank_, last_round);
  if (!request.has_value()) return true;
  const int64_t images = request->images.count;
  answered_ += images;
  const size_t asker = shape_.generator.processes[request->generator];
  const ComputeCost cost =
      role_.times.Of(OperationTime::ANSWER, images) +
      NetworkCost(process_, asker, images * shape_.feedback_bytes) +
      NetworkCost(asker, process_, images * shape_.image_bytes);
  First(factor_ * cost,
        [this, request = *request] { run_.exchange.Answer(rank_, request); });
  return false;
}

// Sends an answer when all images of its request were trained on.
void SimulatedDiscriminator::AnswerTrained(int64_t round, IndexRange trained) {
  trained_.Add(trained);
  while (auto request = run_.exchange.NextRequest(rank_, round)) {
    unanswered_.push_back(*std::move(request));
  }
  std::erase_if(unanswered_, [&](const SimulatedExchange::Request& request) {
    if (request.images.round != round ||
        !trained_.Contains(request.images.range())) {
      return false;
    }
    run_.exchange.Answer(rank_, request);
    return true;
  });
}

// --- Training data ---

void SimulatedDiscriminator::PlanData() {
  const double a_thread = shape_.images_per_decode_thread;
  if (a_thread <= 0) return;
  const double seconds = static_cast<double>(images_) / a_thread;
  // Decoding that exceeds the free cores takes time from the worker's cores.
  const double stolen = std::max(0.0, 1 - decoders_) * seconds;
  ComputeNow({.alone = stolen, .beside = stolen});
  const double making = seconds / std::max(1.0, decoders_);
  const size_t ahead = shape_.prefetch_batches;
  Await(RoleWait::kData, [this, making, ahead, ready = -1.0]() mutable {
    const double now = run_.queue.now();
    if (ready < 0) {
      // Decoding began when the previous batch was made and the queue had room.
      const double room = data_taken_.size() < ahead ? 0 : data_taken_.front();
      if (data_taken_.size() == ahead) data_taken_.pop_front();
      ready = data_ready_ = std::max(data_ready_, room) + making;
      if (ready > now)
        run_.queue.At(ready, [this] { run_.workers[process_].Wake(); });
    }
    if (now < ready) return false;
    data_taken_.push_back(now);
    return true;
  });
}

void SimulatedDiscriminator::PlanTake(const DiscriminatorOp& op) {
  const int64_t version =
      round_ * schedule_.discriminator_steps_per_round + op.step;
  Await(RoleWait::kOtherRole,
        [this, version, round = round_, range = op.range] {
          // BOUNDED: serve waiting generators at each version boundary.
          if (!schedule_.IsExact() && !HasGiven(version)) {
            return false;
          }
          return run_.exchange.Take(rank_, round, range);
        });
}

void SimulatedDiscriminator::PlanGenerated(const DiscriminatorOp& op,
                                           bool is_last) {
  const int64_t images = op.range.count;
  const ComputeCost cost = CostOf(op, role_.times);
  const bool answers = schedule_.JudgesInTraining();
  ComputeNow(
      NetworkCost(maker_process_, process_, images * shape_.image_bytes));
  const auto answer = [this, round = round_, range = op.range] {
    AnswerTrained(round, range);
  };
  const double before = answers ? shape_.answer_part : kForwardPart;
  if (answers) {
    ComputeNow(
        NetworkCost(process_, maker_process_, images * shape_.feedback_bytes));
  }
  if (!answers && !is_last) {
    ComputeNow(cost);
    return;
  }
  if (before < 1) ComputeNow(before * cost);
  if (answers && before < 1) Do(answer);
  const ComputeCost rest = (before < 1 ? 1 - before : 1) * cost;
  if (is_last) {
    ComputeLaunching(rest);
  } else {
    ComputeNow(rest);
  }
  if (answers && before >= 1) Do(answer);
}

}  // namespace gandem
