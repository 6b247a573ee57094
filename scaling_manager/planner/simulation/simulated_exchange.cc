// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/simulation/simulated_exchange.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "exchange/exchange_options.h"
#include "exchange/outbox.h"

namespace gandem {

SimulatedExchange::SimulatedExchange(const RunShape* shape,
                                     SimulatedNetwork* network,
                                     std::function<void(size_t)> wake)
    : shape_(shape),
      network_(network),
      outbox_room_(Outbox::MaxImages(shape->schedule)),
      wake_(std::move(wake)),
      critic_takers_(shape->discriminator.size()) {
  const Schedule& schedule = shape->schedule;
  const int num_generators = shape->generator.size();
  const int num_discriminators = shape->discriminator.size();
  for (int g = 0; g < num_generators; ++g) {
    generators_.push_back({.critics = CriticQueue(schedule)});
    critic_takers_[CriticSource(g, num_generators, num_discriminators)]
        .push_back(g);
  }
  for (int d = 0; d < num_discriminators; ++d) {
    // Count only the generators that take its critics.
    const int takers = static_cast<int>(critic_takers_[d].size());
    discriminators_.push_back(
        {.cache = ImageCache(
             {.max_images = std::max<int64_t>(1, shape->cache_images),
              .max_bytes = 1,
              .max_samples_per_image = shape->max_samples_per_image,
              .max_age = MaxImageAge(schedule)}),
         .critic = CriticSlot(schedule.consistency, takers)});
  }
}

bool SimulatedExchange::Put(int generator, int discriminator,
                            const ImageBatch& part) {
  Stream& stream = StreamOf(generator, discriminator);
  if (stream.outbox_images > 0 &&
      stream.outbox_images + part.count > outbox_room_) {
    return false;
  }
  stream.outbox_images += part.count;
  if (IsTrained(part.use)) counts_.images_sent += part.count;
  if (IsAnswered(part.use)) counts_.images_asked += part.count;
  network_->Send(Generator(generator), Discriminator(discriminator),
                 part.count * shape_->image_bytes,
                 [this, generator, discriminator, part] {
                   Arrive(generator, discriminator, part);
                 });
  return true;
}

void SimulatedExchange::Arrive(int generator, int discriminator,
                               const ImageBatch& batch) {
  Stream& stream = StreamOf(generator, discriminator);
  stream.waiting.push_back(batch);
  discriminators_[discriminator].senders.insert(generator);
  if (AcceptWaiting(discriminator)) wake_(Discriminator(discriminator));
}

// Mirrors DiscriminatorEnd of exchange/discriminator_end.h.
bool SimulatedExchange::HasRoom(int discriminator,
                                const ImageBatch& batch) const {
  const DiscriminatorSide& side = discriminators_[discriminator];
  if (batch.round >
      ImageLedger::NewestAccepted(shape_->schedule, side.oldest_unfinished)) {
    return false;
  }
  return !NeedsRoom(batch.use, batch.round, side.wanted_feedback_round) ||
         side.cache.HasRoom(batch);
}

bool SimulatedExchange::AcceptWaiting(int discriminator) {
  DiscriminatorSide& side = discriminators_[discriminator];
  bool any = false;
  for (auto sender = side.senders.begin(); sender != side.senders.end();) {
    std::deque<ImageBatch>& waiting = StreamOf(*sender, discriminator).waiting;
    while (!waiting.empty() && HasRoom(discriminator, waiting.front())) {
      Accept(*sender, discriminator, waiting.front());
      waiting.pop_front();
      any = true;
    }
    sender = waiting.empty() ? side.senders.erase(sender) : std::next(sender);
  }
  return any;
}

void SimulatedExchange::Accept(int generator, int discriminator,
                               const ImageBatch& batch) {
  DiscriminatorSide& side = discriminators_[discriminator];
  if (IsTrained(batch.use)) {
    side.cache.Add(batch);
  }
  if (IsAnswered(batch.use)) {
    side.requests.push_back({.generator = generator, .images = batch});
  }
  network_->Notify(Discriminator(discriminator), Generator(generator),
                   [this, generator, discriminator, count = batch.count] {
                     StreamOf(generator, discriminator).outbox_images -= count;
                     wake_(Generator(generator));
                   });
}

bool SimulatedExchange::Take(int discriminator, int64_t round,
                             IndexRange range) {
  DiscriminatorSide& side = discriminators_[discriminator];
  const auto attempt = [&] {
    if (!shape_->schedule.IsExact()) {
      return !side.cache.TakeNext(round, range.count).empty();
    }
    const auto taken = side.cache.Take(round, range.first, range.count);
    GANDEM_CHECK_OK(taken.status());
    return !taken->empty();
  };
  bool is_taken = attempt();
  // Accept waiting batches before a retry, and again after taking a slice.
  if (AcceptWaiting(discriminator) && !is_taken) is_taken = attempt();
  if (is_taken) {
    counts_.images_taken += range.count;
    AcceptWaiting(discriminator);
  }
  return is_taken;
}

void SimulatedExchange::FinishRound(int discriminator, int64_t round) {
  DiscriminatorSide& side = discriminators_[discriminator];
  side.oldest_unfinished = std::max(side.oldest_unfinished, round + 1);
  side.cache.DropBefore(shape_->schedule.IsExact()
                            ? round + 1
                            : round + 2 - MaxImageAge(shape_->schedule));
  AcceptWaiting(discriminator);
}

int64_t SimulatedExchange::NewestJudgedRound(int discriminator) const {
  return shape_->schedule.LastRoundJudgedBy(
      discriminators_[discriminator].oldest_unfinished);
}

std::optional<SimulatedExchange::Request> SimulatedExchange::NextRequest(
    int discriminator, int64_t last_round) {
  DiscriminatorSide& side = discriminators_[discriminator];
  if (last_round > side.wanted_feedback_round) {
    side.wanted_feedback_round = last_round;
    AcceptWaiting(discriminator);
  }
  const auto found =
      std::ranges::find_if(side.requests, [&](const Request& request) {
        return request.images.round <= last_round;
      });
  if (found == side.requests.end()) return std::nullopt;
  Request request = *found;
  side.requests.erase(found);
  return request;
}

void SimulatedExchange::Answer(int discriminator, const Request& request) {
  network_->Send(
      Discriminator(discriminator), Generator(request.generator),
      request.images.count * shape_->feedback_bytes,
      [this, generator = request.generator, round = request.images.round,
       first = request.images.first_index, count = request.images.count] {
        counts_.answers_taken += count;
        generators_[generator].answers.emplace(round, first);
        wake_(Generator(generator));
      });
}

bool SimulatedExchange::TakeAnswer(int generator, int64_t round,
                                   int64_t first_index) {
  return generators_[generator].answers.erase({round, first_index}) > 0;
}

bool SimulatedExchange::Publish(int discriminator, int64_t version) {
  CriticSlot& slot = discriminators_[discriminator].critic;
  if (!slot.MayPublish()) return false;
  GANDEM_CHECK_OK(slot.Publish({.version = version}));
  for (const int generator : critic_takers_[discriminator]) {
    SendCritic(generator, discriminator);
  }
  return true;
}

void SimulatedExchange::SendCritic(int generator, int discriminator) {
  Stream& stream = StreamOf(generator, discriminator);
  if (stream.is_critic_under_way) return;
  const std::vector<int>& takers = critic_takers_[discriminator];
  const int taker =
      static_cast<int>(std::ranges::find(takers, generator) - takers.begin());
  const std::optional<CriticState> next =
      discriminators_[discriminator].critic.Next(taker, stream.critic_sent);
  if (!next.has_value()) return;
  stream.is_critic_under_way = true;
  stream.critic_sent = next->version;
  ++counts_.critics_sent;
  const size_t from = Discriminator(discriminator);
  const size_t to = Generator(generator);
  // Within a process, a critic is not copied.
  const int64_t bytes = from == to ? 0 : shape_->discriminator.network_bytes();
  network_->Send(from, to, bytes,
                 [this, generator, discriminator, critic = *next] {
                   OfferCritic(generator, discriminator, critic);
                   wake_(Generator(generator));
                 });
}

void SimulatedExchange::OfferCritic(int generator, int discriminator,
                                    const CriticState& critic) {
  GeneratorSide& side = generators_[generator];
  if (!side.critics.Offer(critic)) {
    side.offered = critic;
    return;
  }
  side.offered.reset();
  network_->Notify(
      Generator(generator), Discriminator(discriminator),
      [this, generator, discriminator, version = critic.version] {
        const std::vector<int>& takers = critic_takers_[discriminator];
        const int taker = static_cast<int>(
            std::ranges::find(takers, generator) - takers.begin());
        ++counts_.critics_acknowledged;
        StreamOf(generator, discriminator).is_critic_under_way = false;
        discriminators_[discriminator].critic.Acknowledge(taker, version);
        SendCritic(generator, discriminator);
        wake_(Discriminator(discriminator));
      });
}

std::optional<int64_t> SimulatedExchange::TakeCritic(int generator,
                                                     int64_t version) {
  GeneratorSide& side = generators_[generator];
  const int source = CriticSource(generator, shape_->generator.size(),
                                  shape_->discriminator.size());
  const auto attempt = [&]() -> std::optional<int64_t> {
    const auto taken = side.critics.Take(version);
    GANDEM_CHECK_OK(taken.status());
    if (!taken->has_value()) return std::nullopt;
    return (*taken)->version;
  };
  std::optional<int64_t> taken = attempt();
  // Taking may have dropped older critics, so that the offered one has room.
  if (side.offered.has_value()) {
    OfferCritic(generator, source, CriticState(*side.offered));
    if (!taken.has_value()) taken = attempt();
  }
  return taken;
}

}  // namespace gandem
