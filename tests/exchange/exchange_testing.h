// SPDX-License-Identifier: Apache-2.0
//
// Small batches whose bytes identify their origin, for the exchange tests.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exchange/exchange.h"
#include "exchange/exchange_options.h"

namespace gandem::testing {

// Returns a format of one byte per image.
inline TensorFormat PixelFormat() {
  return {.encoding = Encoding::kUint8, .channels = 1, .height = 1, .width = 1};
}

inline TensorFormat GradientFormat() {
  return {
      .encoding = Encoding::kBfloat16, .channels = 1, .height = 1, .width = 1};
}

inline ExchangeOptions OptionsFor(const Schedule& schedule) {
  return {.schedule = schedule,
          .image_format = PixelFormat(),
          .feedback_format = GradientFormat(),
          .config_hash = 17,
          .run_epoch = 3,
          .incarnation = 5};
}

inline std::byte Pixel(int64_t round, int64_t index) {
  return static_cast<std::byte>(31 * round + index);
}

inline ImageBatch Images(int64_t round, int64_t first, int64_t count,
                         ImageUse use = ImageUse::kTrain) {
  std::vector<std::byte> pixels(count);
  for (int64_t i = 0; i < count; ++i) pixels[i] = Pixel(round, first + i);
  return {.use = use,
          .round = round,
          .first_index = first,
          .count = count,
          .generator_version = round,
          .format = PixelFormat(),
          .pixels = SharedBytes(std::move(pixels))};
}

inline FeedbackBatch Feedback(const Schedule& schedule, int64_t round,
                              int64_t first, int64_t count) {
  std::vector<std::byte> gradient(2 * count);
  for (int64_t i = 0; i < count; ++i) gradient[2 * i] = Pixel(round, first + i);
  return {.round = round,
          .first_index = first,
          .count = count,
          .critic_version = schedule.CriticVersion(round, first),
          .loss = 0.5,
          .format = GradientFormat(),
          .gradient = SharedBytes(std::move(gradient))};
}

inline CriticState Critic(int64_t version, size_t size = 3) {
  return {.version = version,
          .bytes = SharedBytes(
              std::vector<std::byte>(size, static_cast<std::byte>(version)))};
}

// Returns (round, index) of every image in order, after checking its pixel.
inline std::vector<std::pair<int64_t, int64_t>> Places(
    const std::vector<ImageBatch>& batches) {
  std::vector<std::pair<int64_t, int64_t>> places;
  for (const ImageBatch& batch : batches) {
    for (int64_t i = 0; i < batch.count; ++i) {
      const int64_t index = batch.first_index + i;
      const bool intact =
          static_cast<int64_t>(batch.pixels.size()) == batch.count &&
          batch.pixels.span()[i] == Pixel(batch.round, index);
      places.emplace_back(batch.round, intact ? index : -1);
    }
  }
  return places;
}

}  // namespace gandem::testing
