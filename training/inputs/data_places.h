// SPDX-License-Identifier: Apache-2.0
//
// Assigns an image of the dataset to each generated image: the real image with
// the same number in the run, so that any process finds its input or label.
//
//   kGeneratorNoise, t, i      image number t * B_G + i of the run
//   kDiscriminatorNoise, u, j  image number u * B_D + j
//   kSample, ., i              image i of the dataset, modulo its size
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "common/check.h"
#include "common/philox.h"
#include "pipeline/data_order.h"
#include "training/inputs/data_plan.h"

namespace gandem {

class DataPlaces {
 public:
  // `units` must belong to the run's dataset.
  DataPlaces(const DataPlan& plan, const ImageUnits& units)
      : order_(plan.seed, units),
        size_(units.size),
        generator_batch_(plan.generator_batch),
        discriminator_batch_(plan.discriminator_batch) {}

  int64_t ImageOf(Purpose noise, int64_t step, int64_t index) const {
    const std::optional<int64_t> number = NumberOf(noise, step, index);
    return number.has_value() ? order_.ImageOfSample(*number) : index % size_;
  }

  // Returns the number of the image in the run, which keys the real image's
  // random numbers; nullopt for kSample.
  std::optional<int64_t> NumberOf(Purpose noise, int64_t step,
                                  int64_t index) const {
    switch (noise) {
      case Purpose::kGeneratorNoise:
        return step * generator_batch_ + index;
      case Purpose::kDiscriminatorNoise:
        return step * discriminator_batch_ + index;
      default:
        GANDEM_CHECK(noise == Purpose::kSample);
        return std::nullopt;
    }
  }

 private:
  DataOrder order_;
  int64_t size_;
  int64_t generator_batch_;
  int64_t discriminator_batch_;
};

}  // namespace gandem
