// SPDX-License-Identifier: Apache-2.0
//
// Exchange between the two fleets in virtual time. It uses the real policies
// (image_cache.h, critic_slot.h, critic_queue.h of exchange/) with messages
// that take as long as their bytes do. Images have no pixels. No call waits:
// each tries once and returns.
// Owner: the simulation. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "exchange/critic_queue.h"
#include "exchange/critic_slot.h"
#include "exchange/image_cache.h"
#include "exchange/image_ledger.h"
#include "scaling_manager/planner/model/run_shape.h"
#include "scaling_manager/planner/simulation/simulated_machines.h"

namespace gandem {

// Counts of a run so far. A sent item was taken once, or is in transit.
struct ExchangeCounts {
  int64_t images_sent = 0;    // for training
  int64_t images_taken = 0;   // includes reuses with BOUNDED
  int64_t images_asked = 0;   // for feedback
  int64_t answers_taken = 0;  // images with feedback
  int64_t critics_sent = 0;
  int64_t critics_acknowledged = 0;
};

class SimulatedExchange {
 public:
  // Micro-batch for which a discriminator owes feedback.
  struct Request {
    int generator = 0;
    ImageBatch images = {};
  };

  // `shape` and `network` must outlive the exchange. `wake` is called for a
  // process that may be able to continue.
  SimulatedExchange(const RunShape* shape, SimulatedNetwork* network,
                    std::function<void(size_t process)> wake);
  // Returns the number of generators that take the critics of a discriminator.
  int64_t num_takers(int discriminator) const {
    return std::ssize(critic_takers_[discriminator]);
  }

  // --- A generator's end ---

  // Sends a part to one discriminator; returns false if the outbox is full.
  bool Put(int generator, int discriminator, const ImageBatch& part);
  // Returns whether the answer to this part has arrived; true only once.
  bool TakeAnswer(int generator, int64_t round, int64_t first_index);
  // Returns the version of the critic, if the critic has arrived.
  std::optional<int64_t> TakeCritic(int generator, int64_t version);

  // --- A discriminator's end ---

  bool Take(int discriminator, int64_t round, IndexRange range);
  void FinishRound(int discriminator, int64_t round);
  // Removes and returns the first request of a round up to `last_round`.
  std::optional<Request> NextRequest(int discriminator, int64_t last_round);
  // Returns the newest round that may get feedback now, for BOUNDED.
  int64_t NewestJudgedRound(int discriminator) const;
  void Answer(int discriminator, const Request& request);
  // Returns false if a generator still lacks the previous critic.
  bool Publish(int discriminator, int64_t version);

  const ExchangeCounts& counts() const { return counts_; }

 private:
  // Messages from one generator to one discriminator.
  struct Stream {
    int64_t outbox_images = 0;
    // Images that wait for room in the cache, in the order of arrival.
    std::deque<ImageBatch> waiting = {};
    bool is_critic_under_way = false;
    int64_t critic_sent = -1;
  };
  struct GeneratorSide {
    CriticQueue critics;
    std::optional<CriticState> offered = {};             // arrived, no room yet
    std::set<std::pair<int64_t, int64_t>> answers = {};  // round, first index
  };
  struct DiscriminatorSide {
    ImageCache cache;
    CriticSlot critic;
    std::deque<Request> requests = {};
    std::set<int> senders = {};  // generators with waiting images
    int64_t oldest_unfinished = 0;
    int64_t wanted_feedback_round = -1;
  };

  Stream& StreamOf(int generator, int discriminator) {
    return streams_[{generator, discriminator}];
  }
  size_t Generator(int rank) const { return shape_->generator.processes[rank]; }
  size_t Discriminator(int rank) const {
    return shape_->discriminator.processes[rank];
  }
  bool HasRoom(int discriminator, const ImageBatch& batch) const;
  void Arrive(int generator, int discriminator, const ImageBatch& batch);
  // Accepts waiting images while there is room. Returns whether any fit.
  bool AcceptWaiting(int discriminator);
  void Accept(int generator, int discriminator, const ImageBatch& batch);
  void SendCritic(int generator, int discriminator);
  void OfferCritic(int generator, int discriminator, const CriticState& critic);

  const RunShape* const shape_;
  SimulatedNetwork* const network_;
  const int64_t outbox_room_;
  const std::function<void(size_t process)> wake_;
  std::vector<GeneratorSide> generators_;
  std::vector<DiscriminatorSide> discriminators_;
  // Only pairs that have sent something: few pairs of a thousand workers.
  std::map<std::pair<int, int>, Stream> streams_;
  std::vector<std::vector<int>> critic_takers_;
  ExchangeCounts counts_;
};

}  // namespace gandem
