// SPDX-License-Identifier: Apache-2.0
//
// The exchange between the two fleets in virtual time: the real policies
// (image_cache.h, critic_slot.h, critic_queue.h of exchange/) around messages
// that take as long as their bytes do. Images carry no pixels.
//
// Every call is a try, and returns at once.
//
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

// Images of a run so far, and critics. What was sent is taken once, or still on
// its way.
struct ExchangeCounts {
  int64_t images_sent = 0;    // for training; answered ones count as asked
  int64_t images_taken = 0;   // BOUNDED: uses after the first included
  int64_t images_asked = 0;   // sent to be judged
  int64_t answers_taken = 0;  // images of them
  int64_t critics_sent = 0;
  int64_t critics_acknowledged = 0;
};

class SimulatedExchange {
 public:
  // A micro-batch that a discriminator is to answer.
  struct Request {
    int generator = 0;
    ImageBatch images = {};
  };

  // The shape and the network outlive it. `wake` is called for a process that
  // may go on.
  SimulatedExchange(const RunShape* shape, SimulatedNetwork* network,
                    std::function<void(size_t process)> wake);
  // How many generators take the critics of a discriminator.
  int64_t num_takers(int discriminator) const {
    return std::ssize(critic_takers_[discriminator]);
  }

  // --- A generator's end ---

  // Hands a part over to one discriminator, if there is room on the way.
  bool Put(int generator, int discriminator, const ImageBatch& part);
  // Has the answer to this part come? It is given once.
  bool TakeAnswer(int generator, int64_t round, int64_t first_index);
  // The version, if it is there.
  std::optional<int64_t> TakeCritic(int generator, int64_t version);

  // --- A discriminator's end ---

  bool Take(int discriminator, int64_t round, IndexRange range);
  void FinishRound(int discriminator, int64_t round);
  // The first request of a round up to `last_round`, which is given once.
  std::optional<Request> NextRequest(int discriminator, int64_t last_round);
  // BOUNDED: the newest round that may be judged now.
  int64_t NewestJudgedRound(int discriminator) const;
  void Answer(int discriminator, const Request& request);
  // False: a generator lacks the critic before.
  bool Publish(int discriminator, int64_t version);

  const ExchangeCounts& counts() const { return counts_; }

 private:
  // From one generator to one discriminator.
  struct Stream {
    int64_t outbox_images = 0;
    // Arrived, and without room, in order.
    std::deque<ImageBatch> waiting = {};
    // A critic is on its way.
    bool is_critic_under_way = false;
    int64_t critic_sent = -1;
  };
  struct GeneratorSide {
    CriticQueue critics;
    std::optional<CriticState> offered = {};  // arrived, and without room
    std::set<std::pair<int64_t, int64_t>> answers = {};  // round, first index
  };
  struct DiscriminatorSide {
    ImageCache cache;
    CriticSlot critic;
    std::deque<Request> requests = {};
    std::set<int> senders = {};  // with something that waits
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
  // Accepts what waits, as far as there is room. Returns whether it did any.
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
  // Those that have carried something: of a thousand workers few pairs do.
  std::map<std::pair<int, int>, Stream> streams_;
  // By discriminator: the generators that take its critics.
  std::vector<std::vector<int>> critic_takers_;
  ExchangeCounts counts_;
};

}  // namespace gandem
