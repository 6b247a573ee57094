// SPDX-License-Identifier: Apache-2.0
//
// Generated images that a discriminator worker has accepted and not finished
// with: the policy of the cache, without a lock (design.md sections 4 and 6).
// EXACT takes the slices that the schedule names and removes them. BOUNDED
// takes the next images in order, and uses images again while no new ones are
// there.
//
// Owner: DiscriminatorEnd, under its mutex.
// Thread safety: one thread; values, copies share the images.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "exchange/exchange.h"
#include "exchange/exchange_options.h"
#include "exchange/schedule.h"

namespace gandem {

// BOUNDED: images are used while they are younger, in rounds.
constexpr int64_t MaxImageAge(const Schedule& schedule) {
  return std::max<int64_t>(1, schedule.lag);
}

// Do images of this use, of this round, have to wait for room in the cache? Not
// if a discriminator that has asked for the feedback of rounds up to
// `wanted_round` is to answer them: it trains on nothing before it has.
constexpr bool NeedsRoom(ImageUse use, int64_t round, int64_t wanted_round) {
  return IsTrained(use) && !(IsAnswered(use) && round <= wanted_round);
}

class ImageCache {
 public:
  struct Options {
    int64_t max_images = 0;             // required, >= 1
    int64_t max_bytes = 0;              // required, >= 1
    int64_t max_samples_per_image = 1;  // BOUNDED, >= 1
    int64_t max_age = 1;  // BOUNDED: usable while younger, in rounds; >= 1
  };
  struct Stats {
    int64_t images = 0;
    int64_t bytes = 0;
    int64_t dropped = 0;   // removed before their first use
    int64_t replayed = 0;  // uses after the first
  };

  explicit ImageCache(Options options) : options_(options) {}

  // False while the budget is full of unused images; used ones make way. What
  // a failed Take or TakeNext waits for always has room, so that a fast rank
  // cannot lock a slow one out.
  bool HasRoom(const ImageBatch& batch) const;

  // Stores a batch that no other one overlaps and that has room; one that is
  // too old already counts as dropped.
  void Add(const ImageBatch& batch);

  // EXACT. Removes images [first, first + count) of a round, in the pieces that
  // the generator sent, cut to the range; empty when some have not arrived.
  //   FAILED_PRECONDITION  this slice or a later one was taken before.
  absl::StatusOr<std::vector<ImageBatch>> Take(int64_t round, int64_t first,
                                               int64_t count);

  // BOUNDED. For a discriminator in `round`: unused images in order, then the
  // least used ones, oldest first; empty when there are not `count`.
  std::vector<ImageBatch> TakeNext(int64_t round, int64_t count);

  // EXACT: nothing of a round before `round` will be taken any more.
  // BOUNDED: drops what is too old for a discriminator in `round`.
  void DropBefore(int64_t round);

  // EXACT: the first image that the last Take lacked.
  int64_t first_missing() const { return first_missing_; }

  const Stats& stats() const { return stats_; }

 private:
  using Key = std::pair<int64_t, int64_t>;  // round, first_index
  struct Piece {
    ImageBatch batch;
    int64_t uses = 0;
  };
  using Pieces = std::map<Key, Piece>;

  // Cuts a piece in two after `count` images; returns the first part.
  Pieces::iterator Split(Pieces::iterator piece, int64_t count);
  Pieces::iterator Remove(Pieces::iterator piece);
  // Removes used images, oldest first, until `batch` fits.
  void MakeRoom(const ImageBatch& batch);
  // Appends the first `count` images that were used `uses` times.
  void Use(int64_t uses, int64_t count, std::vector<ImageBatch>& out);

  Options options_;
  Pieces pieces_;
  int64_t unused_images_ = 0;
  int64_t unused_bytes_ = 0;
  int64_t usable_from_ = 0;  // older rounds were dropped
  Key next_ = {0, 0};        // EXACT: all before is taken
  // What the last Take or TakeNext lacked: a range, or anything.
  std::optional<std::pair<int64_t, IndexRange>> wanted_;
  bool wants_any_ = false;
  int64_t first_missing_ = 0;
  Stats stats_;
};

}  // namespace gandem
