// SPDX-License-Identifier: Apache-2.0
//
// Order of the real images (design.md section 5). Sample j of discriminator
// step u has number n = u * B_D + j, which is place n mod size in epoch n div
// size. Each epoch contains every image once, for any batch size. Orders are
// permutations of keyed_permutation.h:
//
//   GLOBAL  place p of epoch e is image kDataOrder[e](p).
//   SHARDS  the units of the dataset (shards, row groups) are concatenated,
//           with unit kUnitOrder[e](k) in place k. The sequence is cut into
//           windows of `window` images; the last one may be shorter. Place p,
//           which is place i of window w, is image kWindowOrder[e * windows +
//           w](i) of its window. Images that are stored together are used at
//           most two windows apart.
//
// Owner: values; copies share the order of an epoch. Thread safety: any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pipeline/keyed_permutation.h"

namespace gandem {

// Storage layout of a dataset's images.
struct ImageUnits {
  int64_t size = 0;  // images, at least 1
  // Index of the first image of each unit: begins with 0, increases, < `size`.
  std::vector<int64_t> firsts = {0};
  int64_t window = 0;  // images; 0: the order is GLOBAL
};

class DataOrder {
 public:
  // `seed` is the run's seed.
  DataOrder(uint64_t seed, ImageUnits units);
  // Makes a GLOBAL order of `size` >= 1 images.
  DataOrder(uint64_t seed, int64_t size)
      : DataOrder(seed, ImageUnits{.size = size}) {}

  // Returns the image at `place` in [0, size) of epoch `epoch` >= 0. With
  // SHARDS the first call in an epoch takes time per unit.
  int64_t Permute(int64_t epoch, int64_t place) const;

  int64_t window() const { return window_; }

  // Returns the image used as sample `number` >= 0 of the run.
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
