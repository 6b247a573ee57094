// SPDX-License-Identifier: Apache-2.0
//
// Order of the real images (design.md section 5): sample j of discriminator
// step u is number n = u * B_D + j, that is place n mod size in the order of
// epoch n div size. Nothing is dropped or repeated in an epoch, whatever the
// batch size. All are permutations of keyed_permutation.h:
//
//   GLOBAL  place p of epoch e is image kDataOrder[e](p).
//   SHARDS  the units of the dataset (shards, row groups) are put one after the
//           other, unit kUnitOrder[e](k) in place k. This row is cut into
//           `window` images each, the last one being shorter. Place p, which
//           is place i of window w, is image kWindowOrder[e * windows + w](i)
//           of its window in the row. So images that are stored together are
//           needed together, at most two windows apart.
//
// Owner: values; copies share what they know of an epoch.
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pipeline/keyed_permutation.h"

namespace gandem {

// How the images of a dataset lie together, and whether that counts.
struct ImageUnits {
  int64_t size = 0;  // images, at least 1
  // The first image of each unit: from 0 on, rising, below `size`.
  std::vector<int64_t> firsts = {0};
  int64_t window = 0;  // images; 0: the order is GLOBAL
};

class DataOrder {
 public:
  // `seed` is the run's seed.
  DataOrder(uint64_t seed, ImageUnits units);
  // GLOBAL, of `size` >= 1 images.
  DataOrder(uint64_t seed, int64_t size)
      : DataOrder(seed, ImageUnits{.size = size}) {}

  // The image at `place` of [0, size) in epoch `epoch` >= 0. SHARDS: the first
  // call in an epoch takes a moment for each unit.
  int64_t Permute(int64_t epoch, int64_t place) const;

  // Images of a window; 0: the order is GLOBAL.
  int64_t window() const { return window_; }

  // The image that is number `number` >= 0 of the run.
  int64_t ImageOfSample(int64_t number) const {
    return Permute(number / size_, number % size_);
  }

 private:
  class UnitOrder;

  int64_t size_;
  int64_t window_;
  KeyedPermutation global_;
  std::shared_ptr<UnitOrder> units_;  // null: GLOBAL
};

}  // namespace gandem
