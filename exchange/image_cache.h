// SPDX-License-Identifier: Apache-2.0
//
// The cache of generated images that a discriminator worker has accepted and
// not finished with, without a lock (design.md sections 4 and 6). EXACT takes
// the slices that the schedule names and removes them. BOUNDED takes the next
// images in order and reuses images while no new ones are available.
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

// BOUNDED: images are usable while their age in rounds is below this.
constexpr int64_t MaxImageAge(const Schedule& schedule) {
  return std::max<int64_t>(1, schedule.lag);
}

// Returns whether images of this use and round need room in the cache. A
// discriminator that has requested feedback up to `wanted_round` trains on
// nothing before it has answered those images, so they need none.
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

  // Returns false while unused images fill the budget; used images give way.
  // The images that a failed Take or TakeNext lacked always have room, so a
  // fast rank cannot block a slow one.
  bool HasRoom(const ImageBatch& batch) const;

  // Stores a batch that overlaps no other and for which HasRoom() is true. A
  // batch that is already too old counts as dropped.
  void Add(const ImageBatch& batch);

  // EXACT: removes images [first, first + count) of a round, in the pieces that
  // the generator sent, cut to the range. Empty if some have not arrived.
  //   FAILED_PRECONDITION  this slice or a later one was taken before.
  absl::StatusOr<std::vector<ImageBatch>> Take(int64_t round, int64_t first,
                                               int64_t count);

  // BOUNDED: returns images for a discriminator in `round`: unused ones in
  // order, then the least used ones, oldest first. Empty if there are fewer
  // than `count`.
  std::vector<ImageBatch> TakeNext(int64_t round, int64_t count);

  // EXACT: images of earlier rounds will not be taken.
  // BOUNDED: drops images too old for a discriminator in `round`.
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
  Key next_ = {0, 0};        // EXACT: all images before it are taken
  // Images that the last Take (a range) or TakeNext (any) lacked.
  std::optional<std::pair<int64_t, IndexRange>> wanted_;
  bool wants_any_ = false;
  int64_t first_missing_ = 0;
  Stats stats_;
};

}  // namespace gandem
