// SPDX-License-Identifier: Apache-2.0
//
// The run that the fuzz targets of the exchange use: both kinds of messages,
// images of a few bytes.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "exchange/exchange_options.h"

namespace gandem {

inline ExchangeOptions SmallRun(uint64_t config_hash = 0) {
  const TensorFormat format = {
      .encoding = Encoding::kUint8, .channels = 1, .height = 2, .width = 2};
  TensorFormat gradient = format;
  gradient.encoding = Encoding::kBfloat16;
  return {.schedule = {.lag = 2,
                       .discriminator_steps_per_round = 2,
                       .feedback = FeedbackMode::kImageGradient,
                       .generator_batch = 8,
                       .discriminator_batch = 4},
          .image_format = format,
          .feedback_format = gradient,
          .config_hash = config_hash};
}

}  // namespace gandem
