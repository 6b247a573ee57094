// SPDX-License-Identifier: Apache-2.0
//
// Cache of generated images that a discriminator has accepted and may still
// use, without a lock (design.md sections 4 and 6). EXACT takes the slices
// named by the schedule and removes them. BOUNDED takes the next images in
// order and reuses images while no new ones are available.
//
// Owner: DiscriminatorEnd, under its mutex.
// Thread safety: one thread. Values; copies share the images.
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

// BOUNDED: returns the age in rounds from which images are unusable.
constexpr int64_t MaxImageAge(const Schedule& schedule) {
  return std::max<int64_t>(1, schedule.lag);
}

// Returns whether images of this use and round need room in the cache. Images
// for feedback up to `wanted_round` need none, because the discriminator
// answers them before it trains on anything.
constexpr bool NeedsRoom(ImageUse use, int64_t round, int64_t wanted_round) {
  return IsTrained(use) && !(IsAnswered(use) && round <= wanted_round);
}

class ImageCache {
 public:
  struct Options {
    int64_t max_images = 0;             // required, >= 1
    int64_t max_bytes = 0;              // required, >= 1
    int64_t max_samples_per_image = 1;  // BOUNDED, >= 1
    // BOUNDED: age in rounds from which images are unusable; >= 1.
    int64_t max_age = 1;
  };
  struct Stats {
    int64_t images = 0;
    int64_t bytes = 0;
    int64_t dropped = 0;   // removed before their first use
    int64_t replayed = 0;  // uses after the first
  };

  explicit ImageCache(Options options) : options_(options) {}

  // Returns false while unused images fill the budget (used images are
  // replaced). Images that a failed Take or TakeNext lacked always have room,
  // so that a fast rank cannot block a slow one.
  bool HasRoom(const ImageBatch& batch) const;

  // Stores a batch, which must not overlap others and must have room. Counts a
  // batch that is already too old as dropped.
  void Add(const ImageBatch& batch);

  // EXACT: removes images [first, first + count) of a round, in the pieces that
  // the generator sent, cut to the range. Returns nothing if some are missing.
  //   FAILED_PRECONDITION  this slice or a later one was already taken
  absl::StatusOr<std::vector<ImageBatch>> Take(int64_t round, int64_t first,
                                               int64_t count);

  // BOUNDED: returns images for a discriminator in `round`: unused ones in
  // order, then the least used, oldest first; nothing if too few.
  std::vector<ImageBatch> TakeNext(int64_t round, int64_t count);

  // Drops images that are no longer usable: of earlier rounds (EXACT), or too
  // old for a discriminator in `round` (BOUNDED).
  void DropBefore(int64_t round);

  // EXACT: returns the first image that the last Take lacked.
  int64_t first_missing() const { return first_missing_; }

  const Stats& stats() const { return stats_; }

 private:
  using Key = std::pair<int64_t, int64_t>;  // round, first_index
  struct Piece {
    ImageBatch batch;
    int64_t uses = 0;
  };
  using Pieces = std::map<Key, Piece>;

  // Cuts a piece after `count` images and returns the first part.
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
  Key next_ = {0, 0};        // EXACT: all images before it are taken
  // Images that the last Take (a range) or TakeNext (any) lacked.
  std::optional<std::pair<int64_t, IndexRange>> wanted_;
  bool wants_any_ = false;
  int64_t first_missing_ = 0;
  Stats stats_;
};

}  // namespace gandem
