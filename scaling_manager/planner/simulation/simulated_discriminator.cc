// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "scaling_manager/planner/simulation/simulated_roles.h"

namespace gandem {
namespace {

// Of a training pass, by floating-point operations: forward one part, backward
// two, of which gradients leave.
constexpr double kForwardPart = 1.0 / 3;

}  // namespace

SimulatedDiscriminator::SimulatedDiscriminator(int rank,
                                               RoleSurroundings around,
                                               double decoders)
    : RankRole(&around.shape->discriminator, rank,
               RankImages(around.shape->schedule.discriminator_batch,
                          around.shape->schedule.discriminator_batches, rank,
                          around.shape->discriminator.size()),
               around),
      decoders_(decoders),
      maker_process_(around.shape->generator.processes[MakerOf(
          around.shape->schedule,
          RankSlices(around.shape->schedule.discriminator_batch,
                     around.shape->schedule.discriminator_batches, rank,
                     around.shape->discriminator.size())
              .front()
              .first,
          around.shape->generator.size())]),
      judged_(ImagesJudgedBy(around.shape->schedule, rank,
                             around.shape->discriminator.size())) {
  const int num_generators = around.shape->generator.size();
  for (int g = 0; g < num_generators; ++g) {
    if (CriticSource(g, num_generators, role_->size()) == rank) ++num_takers_;
  }
}

void SimulatedDiscriminator::PlanRound() {
  using Kind = DiscriminatorOp::Kind;
  BeginRound();
  const Schedule& schedule = around_.shape->schedule;
  const int64_t steps = schedule.discriminator_steps_per_round;
  if (schedule.IsExact()) {
    PlanBoundary();
  } else {
    PlanOffer(round_ * steps);
  }
  const std::vector<DiscriminatorOp> ops =
      DiscriminatorRound(schedule, rank_, role_->size());
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
        const ComputeCost cost = CostOf(op, role_->times);
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
    around_.exchange->FinishRound(rank_, round);
    trained_ = IndexSet();
  });
  EndRound();
}

// --- What the generators get ---

ComputeCost SimulatedDiscriminator::CaptureCost() const {
  const size_t mine = role_->processes[rank_];
  ComputeCost cost = role_->times.Of(OperationTime::CAPTURE_CRITIC, 1);
  if (num_takers_ > 0) {
    cost +=
        num_takers_ * NetworkCost(mine, maker_process_, role_->network_bytes());
  }
  return factor_ * cost;
}

// As the givers of discriminator_worker/feedback_giver.h.
void SimulatedDiscriminator::PlanBoundary() {
  const Schedule& schedule = around_.shape->schedule;
  const int64_t due = schedule.LastRoundJudgedBy(round_);
  if (schedule.JudgesInTraining() || due < 0) return;
  if (schedule.AnswersImages()) {
    Await(RoleWait::kOtherRole, [this, due] {
      if (answered_ >= (due + 1) * judged_) return true;
      HasAnswered(due);
      return false;
    });
    return;
  }
  Compute(CaptureCost());
  const int64_t version = round_ * schedule.discriminator_steps_per_round;
  Await(RoleWait::kOtherRole,
        [this, version] { return around_.exchange->Publish(rank_, version); });
}

void SimulatedDiscriminator::PlanOffer(int64_t version) {
  Await(RoleWait::kOtherRole, [this, version] { return HasGiven(version); });
}

bool SimulatedDiscriminator::HasGiven(int64_t version) {
  if (around_.shape->schedule.AnswersImages()) {
    return HasAnswered(around_.exchange->NewestJudgedRound(rank_));
  }
  if (published_ == version) return true;
  published_ = version;
  // The newest one takes the place of what has not left yet.
  First(CaptureCost(),
        [this, version] { around_.exchange->Publish(rank_, version); });
  return false;
}

bool SimulatedDiscriminator::HasAnswered(int64_t last_round) {
  const std::optional<SimulatedExchange::Request> request =
      around_.exchange->NextRequest(rank_, last_round);
  if (!request.has_value()) return true;
  const int64_t images = request->images.count;
  answered_ += images;
  const size_t asker = around_.shape->generator.processes[request->generator];
  const size_t mine = role_->processes[rank_];
  const ComputeCost cost =
      role_->times.Of(OperationTime::ANSWER, images) +
      NetworkCost(mine, asker, images * around_.shape->feedback_bytes) +
      NetworkCost(asker, mine, images * around_.shape->image_bytes);
  First(factor_ * cost, [this, request = *request] {
    around_.exchange->Answer(rank_, request);
  });
  return false;
}

// An answer leaves when all images of its request were trained on.
void SimulatedDiscriminator::AnswerTrained(int64_t round, IndexRange trained) {
  trained_.Add(trained);
  while (auto request = around_.exchange->NextRequest(rank_, round)) {
    unanswered_.push_back(*std::move(request));
  }
  std::erase_if(unanswered_, [&](const SimulatedExchange::Request& request) {
    if (request.images.round != round ||
        !trained_.Contains(request.images.range())) {
      return false;
    }
    around_.exchange->Answer(rank_, request);
    return true;
  });
}

// --- What it trains on ---

void SimulatedDiscriminator::PlanData() {
  const double a_thread = around_.shape->images_per_decode_thread;
  if (a_thread <= 0) return;
  const double seconds = static_cast<double>(images_) / a_thread;
  // What has no core of its own takes the worker's.
  const double stolen = std::max(0.0, 1 - decoders_) * seconds;
  ComputeNow({.alone = stolen, .beside = stolen});
  const double making = seconds / std::max(1.0, decoders_);
  const size_t ahead = around_.shape->prefetch_batches;
  Await(RoleWait::kData, [this, making, ahead, ready = -1.0]() mutable {
    const double now = around_.queue->now();
    if (ready < 0) {
      // It was begun when the batch before was made, and there was room.
      const double room = data_taken_.size() < ahead ? 0 : data_taken_.front();
      if (data_taken_.size() == ahead) data_taken_.pop_front();
      ready = data_ready_ = std::max(data_ready_, room) + making;
      if (ready > now) around_.queue->At(ready, around_.wake);
    }
    if (now < ready) return false;
    data_taken_.push_back(now);
    return true;
  });
}

void SimulatedDiscriminator::PlanTake(const DiscriminatorOp& op) {
  const Schedule& schedule = around_.shape->schedule;
  const int64_t version =
      round_ * schedule.discriminator_steps_per_round + op.step;
  Await(RoleWait::kOtherRole,
        [this, version, round = round_, range = op.range] {
          // BOUNDED is at a version here, and who waits for it is served.
          if (!around_.shape->schedule.IsExact() && !HasGiven(version)) {
            return false;
          }
          return around_.exchange->Take(rank_, round, range);
        });
}

void SimulatedDiscriminator::PlanGenerated(const DiscriminatorOp& op,
                                           bool is_last) {
  const RunShape& shape = *around_.shape;
  const size_t mine = role_->processes[rank_];
  const int64_t images = op.range.count;
  const ComputeCost cost = CostOf(op, role_->times);
  const bool answers = shape.schedule.JudgesInTraining();
  ComputeNow(NetworkCost(maker_process_, mine, images * shape.image_bytes));
  const auto answer = [this, round = round_, range = op.range] {
    AnswerTrained(round, range);
  };
  const double before = answers ? shape.answer_part : kForwardPart;
  if (answers) {
    ComputeNow(
        NetworkCost(mine, maker_process_, images * shape.feedback_bytes));
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
