// SPDX-License-Identifier: Apache-2.0
//
// Which image of the dataset is in the place of a generated one: that of the
// real image with the same number in the run, so that what belongs to real
// images (an input to translate, a label) can be given to generated ones, and
// every process knows to which.
//
//   kGeneratorNoise, t, i      image number t * B_G + i of the run
//   kDiscriminatorNoise, u, j  image number u * B_D + j
//   kSample, ., i              image i of the dataset, which begins again at
//                              its end
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "common/check.h"
#include "common/philox.h"
#include "pipeline/data_order.h"
#include "training/inputs/data_plan.h"

namespace gandem {

class DataPlaces {
 public:
  // `size` >= 1 is the number of images.
  DataPlaces(const DataPlan& plan, int64_t size)
      : order_(plan.seed, size),
        size_(size),
        generator_batch_(plan.generator_batch),
        discriminator_batch_(plan.discriminator_batch) {}

  int64_t ImageOf(Purpose noise, int64_t step, int64_t index) const {
    switch (noise) {
      case Purpose::kGeneratorNoise:
        return order_.ImageOfSample(step * generator_batch_ + index);
      case Purpose::kDiscriminatorNoise:
        return order_.ImageOfSample(step * discriminator_batch_ + index);
      default:
        GANDEM_CHECK(noise == Purpose::kSample);
        return index % size_;
    }
  }

 private:
  DataOrder order_;
  int64_t size_;
  int64_t generator_batch_;
  int64_t discriminator_batch_;
};

}  // namespace gandem
