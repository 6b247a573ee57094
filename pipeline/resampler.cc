// SPDX-License-Identifier: Apache-2.0
#include "pipeline/resampler.h"

#include <algorithm>

#include "common/check.h"

namespace gandem {

Resampler::Resampler(ImageShape from, ImageShape to)
    : from_(from),
      to_(to),
      rows_(MakeTaps(from.height, to.height)),
      columns_(MakeTaps(from.width, to.width)) {
  GANDEM_CHECK(from.channels == to.channels);
  GANDEM_CHECK(from.NumValues() > 0 && to.NumValues() > 0);
}

Resampler::Tap Resampler::AreaTap(int64_t i, int64_t from, int64_t to) {
  // Integer arithmetic in units of 1/to of a source pixel.
  const int64_t begin = i * from;
  const int64_t end = begin + from;
  Tap tap = {.first = begin / to};
  for (int64_t s = tap.first; s * to < end; ++s) {
    const int64_t overlap =
        std::min(end, (s + 1) * to) - std::max(begin, s * to);
    tap.weights.push_back(static_cast<float>(static_cast<double>(overlap) /
                                             static_cast<double>(from)));
  }
  return tap;
}

Resampler::Tap Resampler::BilinearTap(int64_t i, int64_t from, int64_t to) {
  const double center = (i + 0.5) * from / to - 0.5;
  const double position =
      std::clamp(center, 0.0, static_cast<double>(from - 1));
  const auto first = static_cast<int64_t>(position);
  const double fraction = position - static_cast<double>(first);
  if (fraction == 0.0) return {.first = first, .weights = {1.0f}};
  return {.first = first,
          .weights = {static_cast<float>(1.0 - fraction),
                      static_cast<float>(fraction)}};
}

std::vector<Resampler::Tap> Resampler::MakeTaps(int64_t from, int64_t to) {
  std::vector<Tap> taps;
  for (int64_t i = 0; i < to; ++i) {
    taps.push_back(from > to ? AreaTap(i, from, to) : BilinearTap(i, from, to));
  }
  return taps;
}

void Resampler::Apply(std::span<const float> in, std::span<float> out) const {
  GANDEM_CHECK(static_cast<int64_t>(in.size()) == from_.NumValues());
  GANDEM_CHECK(static_cast<int64_t>(out.size()) == to_.NumValues());
  const int64_t num_rows = from_.channels * from_.height;
  std::vector<float> rows(num_rows * to_.width);
  for (int64_t row = 0; row < num_rows; ++row) {
    ResizeRow(in.data() + row * from_.width, rows.data() + row * to_.width);
  }
  for (int64_t c = 0; c < from_.channels; ++c) {
    ResizeColumns(rows.data() + c * from_.height * to_.width,
                  out.data() + c * to_.height * to_.width);
  }
}

float Resampler::Sum(const Tap& tap, const float* in, int64_t stride) {
  float sum = 0.0f;
  for (size_t k = 0; k < tap.weights.size(); ++k) {
    sum += tap.weights[k] * in[(tap.first + static_cast<int64_t>(k)) * stride];
  }
  return std::clamp(sum, -1.0f, 1.0f);  // rounding may leave [-1, 1]
}

void Resampler::ResizeRow(const float* in, float* out) const {
  for (int64_t x = 0; x < to_.width; ++x) out[x] = Sum(columns_[x], in, 1);
}

void Resampler::ResizeColumns(const float* in, float* out) const {
  for (int64_t y = 0; y < to_.height; ++y) {
    for (int64_t x = 0; x < to_.width; ++x) {
      *out++ = Sum(rows_[y], in + x, to_.width);
    }
  }
}

}  // namespace gandem
