// SPDX-License-Identifier: Apache-2.0
//
// Exhaustive search for deadlocks of the schedule. Both roles execute the
// operations of schedule.h on the real policies of both ends (ledger, cache,
// feedback book, critic slot and queue, outbox). Images, critics,
// acknowledgements and answers are delivered one by one. The search visits
// every interleaving. A state in which no action is possible before both roles
// have finished is a deadlock.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exchange/critic_queue.h"
#include "exchange/critic_slot.h"
#include "exchange/exchange_options.h"
#include "exchange/feedback_book.h"
#include "exchange/image_cache.h"
#include "exchange/image_ledger.h"
#include "exchange/outbox.h"
#include "exchange/schedule.h"
#include "tests/exchange/exchange_testing.h"

namespace gandem {
namespace {

using gandem::testing::Images;

struct Setting {
  Schedule schedule;
  int64_t first_round = 0;
  int64_t last_round = 0;
  // Whether there is an outbox, which holds a round of images; without one the
  // generator waits until its images are in the cache, as in colocated mode.
  bool has_outbox = true;
  // Planted mistakes that the search must find.
  bool waits_before_sending = false;
  bool answers_a_round_late = false;

  bool exact() const { return schedule.consistency == Consistency::kExact; }
  bool gradient() const { return schedule.AnswersImages(); }
  bool fused() const { return schedule.JudgesInTraining(); }
};

std::vector<GeneratorOp> OpsOfGenerator(const Setting& setting, int64_t round) {
  using Kind = GeneratorOp::Kind;
  std::vector<GeneratorOp> ops = GeneratorRound(setting.schedule, round, 0, 1);
  std::erase_if(ops, [](const GeneratorOp& op) {
    return op.kind == Kind::kMakeImages || op.kind == Kind::kForward ||
           op.kind == Kind::kBackward;
  });
  if (setting.waits_before_sending) {
    std::stable_partition(ops.begin(), ops.end(), [](const GeneratorOp& op) {
      return op.kind == Kind::kTakeCritic || op.kind == Kind::kTakeFeedback;
    });
  }
  return ops;
}

ImageUse StepUse(const Setting& setting) {
  if (!setting.gradient()) return ImageUse::kTrain;
  return setting.schedule.image_source == ImageSource::kReused
             ? ImageUse::kBoth
             : ImageUse::kFeedback;
}

// The whole state at one moment. Each action returns whether it was possible
// and changed the state.
class State {
 public:
  explicit State(const Setting& setting)
      : setting_(&setting),
        generator_round_(setting.first_round),
        discriminator_round_(setting.first_round),
        next_boundary_(setting.schedule.CriticBoundary(setting.first_round)),
        answered_until_(setting.first_round - 1),
        ledger_(setting.schedule, setting.first_round),
        cache_({.max_images = CacheImages(setting),
                .max_bytes = CacheImages(setting),
                .max_samples_per_image = 2,
                .max_age = std::max<int64_t>(1, setting.schedule.lag)}),
        feedback_(1),
        slot_(setting.schedule.consistency, 1),
        queue_(setting.schedule),
        outbox_(setting.schedule) {
    BeginGeneratorRound();
    BeginDiscriminatorRound();
  }

  bool IsDone() const {
    return generator_round_ > setting_->last_round &&
           discriminator_round_ > setting_->last_round;
  }

  // Number of actions that Act() knows.
  static constexpr int kNumActions = 7;
  bool Act(int action) {
    switch (action) {
      case 0:
        return StepGenerator();
      case 1:
        return StepDiscriminator();
      case 2:
        return DeliverImages();
      case 3:
        return SendCritic();
      case 4:
        return DeliverCritic();
      case 5:
        return DeliverCriticAck();
      default:
        return DeliverFeedback();
    }
  }

  // Returns false if the action is impossible. Cheaper than copying a state.
  bool MayAct(int action) const {
    switch (action) {
      case 2:
        return !sent_.empty();
      case 3:
        return slot_.Next(0, critic_sent_).has_value();
      case 4:
        return !critics_.empty();
      case 5:
        return !critic_acks_.empty();
      case 6:
        return feedback_.NextAnswer(0, feedback_number_).has_value();
      default:
        return true;
    }
  }

  std::string Key() const;

 private:
  static int64_t CacheImages(const Setting& setting) {
    return std::max<int64_t>(1, setting.schedule.lag) *
           setting.schedule.TrainImagesPerRound();
  }

  void BeginGeneratorRound() {
    generator_ops_ = std::make_shared<const std::vector<GeneratorOp>>(
        OpsOfGenerator(*setting_, generator_round_));
    generator_op_ = 0;
  }
  void BeginDiscriminatorRound() {
    std::vector<DiscriminatorOp> ops =
        DiscriminatorRound(setting_->schedule, 0, 1);
    std::erase_if(ops, [this](const DiscriminatorOp& op) {
      return op.kind == DiscriminatorOp::Kind::kReal ||
             (op.kind == DiscriminatorOp::Kind::kGenerated &&
              !setting_->fused());
    });
    discriminator_ops_ =
        std::make_shared<const std::vector<DiscriminatorOp>>(std::move(ops));
    discriminator_op_ = 0;
  }

  bool StepGenerator();
  bool Put(const ImageBatch& batch);
  bool TakeCritic(int64_t version);
  bool Accept(const ImageBatch& batch);

  bool StepDiscriminator();
  bool Publish();
  bool Answer(int64_t last_round);
  void CountAnswer(int64_t images);
  // With FUSED, answers all requests whose images up to `end` were trained on.
  void AnswerTrained(int64_t end);
  // Feedback and critics due at a boundary between rounds.
  int64_t LastRoundDue() const;
  int64_t LastBoundaryDue() const;
  bool OwesFeedbackOrCritic() const;
  bool ServeBoundary();
  bool Take(const DiscriminatorOp& op);
  void FinishRound(int64_t round);

  bool DeliverImages();
  bool SendCritic();
  bool DeliverCritic();
  bool DeliverCriticAck();
  bool DeliverFeedback();

  const Setting* setting_;
  int64_t generator_round_;
  // Copies of a state share the operations.
  std::shared_ptr<const std::vector<GeneratorOp>> generator_ops_;
  size_t generator_op_ = 0;
  bool generator_waits_ = false;
  int64_t critic_taken_ = -1;

  int64_t discriminator_round_;
  std::shared_ptr<const std::vector<DiscriminatorOp>> discriminator_ops_;
  size_t discriminator_op_ = 0;
  bool discriminator_waits_ = false;
  int64_t next_boundary_;        // to publish
  int64_t answered_until_;       // EXACT: last round with all images judged
  int64_t answered_images_ = 0;  // of the next round
  int64_t wanted_feedback_round_ = -1;
  std::vector<ImageBatch> requests_;  // FUSED: unanswered

  ImageLedger ledger_;
  ImageCache cache_;
  FeedbackBook feedback_;
  CriticSlot slot_;
  CriticQueue queue_;
  Outbox outbox_;

  std::vector<ImageBatch> sent_;      // the link to the discriminator
  int64_t critic_sent_ = -1;          // last on the link to the generator
  std::vector<CriticState> critics_;  // on the link to the generator
  std::vector<int64_t> critic_acks_;  // on the link to the discriminator
  int64_t feedback_number_ = 0;       // last delivered
  std::set<std::pair<int64_t, int64_t>> feedback_here_;
};

bool State::StepGenerator() {
  using Kind = GeneratorOp::Kind;
  if (generator_round_ > setting_->last_round) return false;
  const GeneratorOp op = (*generator_ops_)[generator_op_];
  bool done = true;
  switch (op.kind) {
    case Kind::kSendImages:
      done = Put(Images(generator_round_, op.range.first, op.range.count));
      break;
    case Kind::kSendForward:
      done = Put(Images(generator_round_, op.range.first, op.range.count,
                        StepUse(*setting_)));
      break;
    case Kind::kTakeCritic:
      done = TakeCritic(op.critic_version);
      break;
    case Kind::kTakeFeedback:
      done = feedback_here_.erase({generator_round_, op.range.first}) > 0;
      break;
    default:
      break;
  }
  if (!done) {
    // A failed attempt counts as a change: it reserves space.
    return !std::exchange(generator_waits_, true);
  }
  generator_waits_ = false;
  if (++generator_op_ == generator_ops_->size()) {
    ++generator_round_;
    BeginGeneratorRound();
    if (generator_round_ > setting_->last_round) slot_.Release(0);
  }
  return true;
}

bool State::Put(const ImageBatch& batch) {
  if (!setting_->has_outbox) return Accept(batch);
  if (!outbox_.HasRoom(batch)) return false;
  outbox_.Add(batch);
  sent_.push_back(*outbox_.Next());
  return true;
}

bool State::DeliverImages() {
  if (sent_.empty() || !Accept(sent_.front())) return false;
  const ImageBatch& batch = sent_.front();
  EXPECT_TRUE(
      outbox_.Acknowledge(batch.use, batch.round, batch.first_index).ok());
  sent_.erase(sent_.begin());
  return true;
}

// Matches DiscriminatorEnd::OfferImages.
bool State::Accept(const ImageBatch& batch) {
  const auto verdict = ledger_.Check(batch);
  EXPECT_TRUE(verdict.ok()) << verdict.status();
  if (!verdict.ok()) return false;
  const bool judged_first =
      IsAnswered(batch.use) && batch.round <= wanted_feedback_round_;
  if (IsTrained(batch.use) && !judged_first && !cache_.HasRoom(batch)) {
    return false;
  }
  ledger_.Record(batch);
  if (IsTrained(batch.use)) cache_.Add(batch);
  if (IsAnswered(batch.use)) feedback_.AddRequest(0, batch);
  return true;
}

bool State::TakeCritic(int64_t version) {
  const auto critic = queue_.Take(version);
  EXPECT_TRUE(critic.ok()) << critic.status();
  if (!critic.ok() || !critic->has_value()) return false;
  critic_taken_ = (*critic)->version;
  return true;
}

bool State::SendCritic() {
  const auto critic = slot_.Next(0, critic_sent_);
  if (!critic.has_value()) return false;
  critic_sent_ = critic->version;
  critics_.push_back(*critic);
  return true;
}

bool State::DeliverCritic() {
  if (critics_.empty() || !queue_.Offer(critics_.front())) return false;
  critic_acks_.push_back(critics_.front().version);
  critics_.erase(critics_.begin());
  return true;
}

bool State::DeliverCriticAck() {
  if (critic_acks_.empty()) return false;
  slot_.Acknowledge(0, critic_acks_.front());
  critic_acks_.erase(critic_acks_.begin());
  return true;
}

bool State::DeliverFeedback() {
  const auto next = feedback_.NextAnswer(0, feedback_number_);
  if (!next.has_value()) return false;
  feedback_number_ = next->number;
  feedback_here_.insert({next->answer.round, next->answer.first_index});
  feedback_.Acknowledge(0, next->answer.round, next->answer.first_index);
  return true;
}

bool State::StepDiscriminator() {
  const bool at_boundary = discriminator_op_ == 0;
  // With BOUNDED also answers between updates, while it waits for images.
  if ((at_boundary && ServeBoundary()) ||
      (!setting_->exact() && setting_->gradient() && Answer(LastRoundDue()))) {
    discriminator_waits_ = false;
    return true;
  }
  if (at_boundary && OwesFeedbackOrCritic()) {
    return !std::exchange(discriminator_waits_, true);
  }
  if (discriminator_round_ > setting_->last_round) return false;
  const DiscriminatorOp op = (*discriminator_ops_)[discriminator_op_];
  if (op.kind == DiscriminatorOp::Kind::kTake && !Take(op)) {
    return !std::exchange(discriminator_waits_, true);
  }
  if (op.kind == DiscriminatorOp::Kind::kGenerated) {
    AnswerTrained(op.range.end());
  }
  discriminator_waits_ = false;
  if (++discriminator_op_ == discriminator_ops_->size()) {
    FinishRound(discriminator_round_++);
    BeginDiscriminatorRound();
  }
  return true;
}

int64_t State::LastRoundDue() const {
  if (setting_->fused()) return discriminator_round_ - 1;
  const int64_t late = setting_->answers_a_round_late ? 1 : 0;
  return std::min(
      setting_->schedule.LastRoundJudgedBy(discriminator_round_) - late,
      setting_->last_round);
}

int64_t State::LastBoundaryDue() const {
  return std::min(discriminator_round_,
                  setting_->schedule.CriticBoundary(setting_->last_round));
}

bool State::OwesFeedbackOrCritic() const {
  if (!setting_->gradient()) return next_boundary_ <= LastBoundaryDue();
  return setting_->exact() && answered_until_ < LastRoundDue();
}

bool State::ServeBoundary() {
  if (!setting_->gradient()) {
    return next_boundary_ <= LastBoundaryDue() && Publish();
  }
  return setting_->exact() && answered_until_ < LastRoundDue() &&
         Answer(LastRoundDue());
}

bool State::Publish() {
  if (!slot_.MayPublish()) return false;
  const int64_t version =
      next_boundary_++ * setting_->schedule.discriminator_steps_per_round;
  EXPECT_TRUE(slot_.Publish({.version = version}).ok());
  return true;
}

bool State::Answer(int64_t last_round) {
  const Schedule& schedule = setting_->schedule;
  if (!setting_->exact()) {
    last_round = std::min(
        last_round, schedule.LastRoundJudgedBy(ledger_.oldest_unfinished()));
  }
  wanted_feedback_round_ = std::max(wanted_feedback_round_, last_round);
  const auto request = feedback_.NextRequest(last_round);
  if (!request.has_value()) return false;
  EXPECT_TRUE(
      feedback_
          .Answer(gandem::testing::Feedback(
              schedule, request->round, request->first_index, request->count))
          .ok());
  discriminator_waits_ = false;
  CountAnswer(request->count);
  return true;
}

void State::CountAnswer(int64_t images) {
  answered_images_ += images;
  if (answered_images_ < setting_->schedule.generator_batch) return;
  answered_images_ = 0;
  ++answered_until_;
}

void State::AnswerTrained(int64_t end) {
  wanted_feedback_round_ = discriminator_round_;
  while (auto request = feedback_.NextRequest(discriminator_round_)) {
    requests_.push_back(*std::move(request));
  }
  std::erase_if(requests_, [&](const ImageBatch& request) {
    if (request.range().end() > end) return false;
    EXPECT_TRUE(feedback_
                    .Answer(gandem::testing::Feedback(
                        setting_->schedule, request.round, request.first_index,
                        request.count))
                    .ok());
    CountAnswer(request.count);
    return true;
  });
}

bool State::Take(const DiscriminatorOp& op) {
  if (!setting_->exact()) {
    return !cache_.TakeNext(discriminator_round_, op.range.count).empty();
  }
  const auto taken =
      cache_.Take(discriminator_round_, op.range.first, op.range.count);
  EXPECT_TRUE(taken.ok()) << taken.status();
  return taken.ok() && !taken->empty();
}

void State::FinishRound(int64_t round) {
  ledger_.Advance(round + 1);
  const int64_t max_age = std::max<int64_t>(1, setting_->schedule.lag);
  cache_.DropBefore(setting_->exact() ? round + 1 : round + 2 - max_age);
}

std::string State::Key() const {
  std::string key = absl::StrCat(
      generator_round_, ".", generator_op_, generator_waits_ ? "w" : "", " ",
      critic_taken_, " ", discriminator_round_, ".", discriminator_op_,
      discriminator_waits_ ? "w" : "", " ", next_boundary_, " ",
      answered_until_, ".", answered_images_, " ", sent_.size(), " ",
      critic_sent_, ".", critics_.size(), ".", critic_acks_.size(), ".",
      queue_.newest_version(), " ", feedback_number_);
  if (setting_->exact()) return key;
  // The cache content depends on the order of arrival and use.
  ImageCache rest = cache_;
  while (true) {
    const auto next = rest.TakeNext(0, 1);
    if (next.empty()) return key;
    absl::StrAppend(&key, "|", next[0].round, ".", next[0].first_index);
  }
}

struct Result {
  int64_t states = 0;
  std::optional<std::string> deadlock;
};

Result Search(const Setting& setting) {
  Result result;
  std::unordered_set<std::string> seen;
  std::vector<State> open = {State(setting)};
  seen.insert(open.back().Key());
  while (!open.empty() && !::testing::Test::HasFailure()) {
    const State state = std::move(open.back());
    open.pop_back();
    ++result.states;
    bool stuck = true;
    for (int action = 0; action < State::kNumActions; ++action) {
      if (!state.MayAct(action)) continue;
      State next = state;
      if (!next.Act(action)) continue;
      stuck = false;
      if (seen.insert(next.Key()).second) open.push_back(std::move(next));
    }
    if (stuck && !state.IsDone()) {
      result.deadlock = state.Key();
      return result;
    }
  }
  return result;
}

std::vector<Setting> AllSettings(Consistency consistency) {
  std::vector<Setting> settings;
  for (int64_t lag = 0; lag <= 4; ++lag) {
    for (int64_t steps = 1; steps <= 3; ++steps) {
      for (auto source : {ImageSource::kReused, ImageSource::kFresh}) {
        for (auto feedback :
             {FeedbackMode::kSnapshot, FeedbackMode::kImageGradient,
              FeedbackMode::kFused}) {
          if (feedback == FeedbackMode::kFused &&
              (lag != 1 || source != ImageSource::kReused ||
               consistency != Consistency::kExact)) {
            continue;
          }
          for (int64_t pieces : {1, 2}) {
            Schedule schedule = {.lag = lag,
                                 .discriminator_steps_per_round = steps,
                                 .consistency = consistency,
                                 .image_source = source,
                                 .feedback = feedback,
                                 .generator_batch = 2 * steps,
                                 .discriminator_batch = 2,
                                 .generator_micro_batch = 2 * steps / pieces,
                                 .discriminator_micro_batch = 2 / pieces};
            settings.push_back({.schedule = schedule, .last_round = lag + 2});
          }
        }
      }
    }
  }
  return settings;
}

std::string Describe(const Setting& setting) {
  const Schedule& schedule = setting.schedule;
  return absl::StrCat(
      "lag ", schedule.lag, ", R ", schedule.discriminator_steps_per_round,
      schedule.image_source == ImageSource::kFresh ? ", FRESH" : ", REUSED",
      setting.fused()      ? ", FUSED"
      : setting.gradient() ? ", IMAGE_GRADIENT"
                           : ", SNAPSHOT",
      ", micro-batches ", schedule.generator_micro_batch, " and ",
      schedule.discriminator_micro_batch, ", first round ", setting.first_round,
      setting.has_outbox ? "" : ", no outbox");
}

TEST(ScheduleSearchTest, ExactNeverDeadlocks) {
  for (Setting setting : AllSettings(Consistency::kExact)) {
    for (bool has_outbox : {true, false}) {
      for (int64_t first_round : {0, 5}) {
        setting.has_outbox = has_outbox;
        setting.first_round = first_round;
        setting.last_round = first_round + setting.schedule.lag + 2;
        const Result result = Search(setting);
        ASSERT_FALSE(result.deadlock.has_value())
            << Describe(setting) << ": " << *result.deadlock;
        ASSERT_FALSE(HasFailure()) << Describe(setting);
        EXPECT_GT(result.states, 2 * (setting.schedule.lag + 3));
      }
    }
  }
}

TEST(ScheduleSearchTest, BoundedNeverDeadlocks) {
  for (const Setting& setting : AllSettings(Consistency::kBounded)) {
    // The choice of replayed images multiplies the states.
    const Schedule& schedule = setting.schedule;
    if (schedule.lag > 2 || schedule.discriminator_steps_per_round > 2 ||
        schedule.discriminator_micro_batch < schedule.discriminator_batch) {
      continue;
    }
    const Result result = Search(setting);
    ASSERT_FALSE(result.deadlock.has_value())
        << Describe(setting) << ": " << *result.deadlock;
    ASSERT_FALSE(HasFailure()) << Describe(setting);
  }
}

// Checks that the search finds planted mistakes.
TEST(ScheduleSearchTest, WaitingBeforeSendingDeadlocks) {
  for (Setting setting : AllSettings(Consistency::kExact)) {
    setting.waits_before_sending = true;
    // With a lag the critic depends on images of earlier rounds only.
    const bool deadlocks = setting.schedule.lag == 0 || setting.gradient();
    EXPECT_EQ(Search(setting).deadlock.has_value(), deadlocks)
        << Describe(setting);
  }
}

TEST(ScheduleSearchTest, AnsweringLateDeadlocksAtLagZero) {
  for (Setting setting : AllSettings(Consistency::kExact)) {
    if (!setting.gradient() || setting.schedule.lag > 0) continue;
    setting.answers_a_round_late = true;
    EXPECT_TRUE(Search(setting).deadlock.has_value()) << Describe(setting);
  }
}

}  // namespace
}  // namespace gandem
