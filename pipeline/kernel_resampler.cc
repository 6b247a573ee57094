// SPDX-License-Identifier: Apache-2.0
#include "pipeline/kernel_resampler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>

#include "common/check.h"
#include "common/vectorized.h"

namespace gandem {
namespace {

constexpr int kWeightBits = 22;

// Beyond this distance from its center a kernel is 0.
double SupportOf(ResizeKernel kernel) {
  switch (kernel) {
    case ResizeKernel::kBox:
      return 0.5;
    case ResizeKernel::kBilinear:
      return 1;
    case ResizeKernel::kBicubic:
      return 2;
    case ResizeKernel::kLanczos:
      break;
  }
  return 3;
}

// Keys 1981, equation 15, for a = -0.5.
double Cubic(double x) {
  constexpr double kA = -0.5;
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0;
}

double Sinc(double x) {
  if (x == 0) return 1;
  return std::sin(std::numbers::pi * x) / (std::numbers::pi * x);
}

double KernelValue(ResizeKernel kernel, double at) {
  const double x = std::abs(at);
  switch (kernel) {
    case ResizeKernel::kBox:
      return at > -0.5 && at <= 0.5 ? 1 : 0;
    case ResizeKernel::kBilinear:
      return std::max(0.0, 1 - x);
    case ResizeKernel::kBicubic:
      return Cubic(x);
    case ResizeKernel::kLanczos:
      break;
  }
  return at >= -3 && at < 3 ? Sinc(at) * Sinc(at / 3) : 0;
}

constexpr int32_t kHalf = 1 << (kWeightBits - 1);

[[gnu::always_inline]] inline uint8_t Rounded(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

// Rows that are resized together, a byte of each beside the other: a weight is
// for all of them.
constexpr int64_t kLanes = 64;

// The same eight bytes of eight rows into the same lanes of eight places
// (Warren 2012, "Hacker's Delight", section 7-3).
[[gnu::always_inline]] inline void Transpose8x8(const uint8_t* const* rows,
                                                int64_t at, uint8_t* to) {
  std::array<uint64_t, 8> words;
  for (int r = 0; r < 8; ++r) std::memcpy(&words[r], rows[r] + at, 8);
  const auto swap = [](uint64_t& a, uint64_t& b, int shift, uint64_t mask) {
    const uint64_t changed = ((a >> shift) ^ b) & mask;
    b ^= changed;
    a ^= changed << shift;
  };
  for (int r = 0; r < 8; r += 2) {
    swap(words[r], words[r + 1], 8, 0x00ff00ff00ff00ff);
  }
  for (const int r : {0, 1, 4, 5}) {
    swap(words[r], words[r + 2], 16, 0x0000ffff0000ffff);
  }
  for (int r = 0; r < 4; ++r) {
    swap(words[r], words[r + 4], 32, 0x00000000ffffffff);
  }
  for (int i = 0; i < 8; ++i) std::memcpy(to + i * kLanes, &words[i], 8);
}

// `bytes` bytes of kLanes rows, by place and lane.
[[gnu::always_inline]] inline void Interleave(const uint8_t* const* rows,
                                              int64_t bytes, uint8_t* to) {
  int64_t at = 0;
  if constexpr (std::endian::native == std::endian::little) {
    for (; at + 8 <= bytes; at += 8) {
      for (int64_t lane = 0; lane < kLanes; lane += 8) {
        Transpose8x8(rows + lane, at, to + at * kLanes + lane);
      }
    }
  }
  for (; at < bytes; ++at) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      to[at * kLanes + lane] = rows[lane][at];
    }
  }
}

}  // namespace

KernelResampler::KernelResampler(ResizeKernel kernel, int64_t from_height,
                                 int64_t from_width, int64_t to_height,
                                 int64_t to_width)
    : from_height_(from_height), from_width_(from_width) {
  GANDEM_CHECK(std::min({from_height, from_width, to_height, to_width}) >= 1);
  if (from_height != to_height) {
    rows_ = MakeTaps(kernel, from_height, to_height);
  }
  if (from_width != to_width) {
    columns_ = MakeTaps(kernel, from_width, to_width);
  }
}

std::vector<KernelResampler::Taps> KernelResampler::MakeTaps(
    ResizeKernel kernel, int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double widening = std::max(scale, 1.0);
  const double support = SupportOf(kernel) * widening;
  std::vector<Taps> taps(static_cast<size_t>(to));
  for (int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const auto first =
        std::max<int64_t>(0, static_cast<int64_t>(center - support + 0.5));
    const auto end =
        std::min<int64_t>(from, static_cast<int64_t>(center + support + 0.5));
    std::vector<double> values;
    double sum = 0;
    for (int64_t s = first; s < end; ++s) {
      // Divided by multiplication, as there: the last bit counts.
      values.push_back(KernelValue(
          kernel, (static_cast<double>(s) - center + 0.5) * (1.0 / widening)));
      sum += values.back();
    }
    taps[i].first = first;
    for (const double value : values) {
      const double weight =
          (sum != 0 ? value / sum : value) * (1 << kWeightBits);
      taps[i].weights.push_back(
          static_cast<int32_t>(weight + (weight < 0 ? -0.5 : 0.5)));
    }
  }
  return taps;
}

PixelImage KernelResampler::Apply(const PixelImage& image) const {
  GANDEM_CHECK(image.height == from_height_ && image.width == from_width_);
  if (columns_.empty() && rows_.empty()) return image;
  if (columns_.empty()) return ResizeHeight(image);
  if (rows_.empty()) return ResizeWidth(image);
  return ResizeHeight(ResizeWidth(image));
}

// Of kLanes rows of the width.
struct KernelResampler::WidthLoop {
  const std::vector<Taps>& columns;
  int64_t channels;
  const uint8_t* interleaved;
  std::array<uint8_t*, kLanes> to;

  [[gnu::always_inline]] void operator()() const {
    for (size_t x = 0; x < columns.size(); ++x) {
      const Taps& taps = columns[x];
      for (int64_t c = 0; c < channels; ++c) {
        const uint8_t* from =
            interleaved + (taps.first * channels + c) * kLanes;
        std::array<int32_t, kLanes> sums;
        sums.fill(kHalf);
        for (const int32_t weight : taps.weights) {
          for (int64_t lane = 0; lane < kLanes; ++lane) {
            sums[lane] += from[lane] * weight;
          }
          from += channels * kLanes;
        }
        const int64_t at = static_cast<int64_t>(x) * channels + c;
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          to[lane][at] = Rounded(sums[lane]);
        }
      }
    }
  }
};

PixelImage KernelResampler::ResizeWidth(const PixelImage& image) const {
  const int64_t row_bytes = image.width * image.channels;
  PixelImage out = {.channels = image.channels,
                    .height = image.height,
                    .width = static_cast<int64_t>(columns_.size())};
  const int64_t to_bytes = out.width * out.channels;
  out.pixels.resize(static_cast<size_t>(out.height * to_bytes));
  std::vector<uint8_t> interleaved(static_cast<size_t>(row_bytes * kLanes));
  std::vector<uint8_t> unused(static_cast<size_t>(to_bytes));
  for (int64_t y = 0; y < image.height; y += kLanes) {
    WidthLoop loop = {.columns = columns_,
                      .channels = image.channels,
                      .interleaved = interleaved.data(),
                      .to = {}};
    std::array<const uint8_t*, kLanes> rows;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const int64_t row = std::min(y + lane, image.height - 1);
      rows[lane] = image.pixels.data() + row * row_bytes;
      loop.to[lane] = y + lane < image.height
                          ? out.pixels.data() + (y + lane) * to_bytes
                          : unused.data();
    }
    Interleave(rows.data(), row_bytes, interleaved.data());
    RunVectorized(loop);
  }
  return out;
}

struct KernelResampler::HeightLoop {
  const Taps& taps;
  const uint8_t* from;
  int64_t row_bytes;
  int32_t* sums;
  uint8_t* to;

  [[gnu::always_inline]] void operator()() const {
    std::fill_n(sums, row_bytes, kHalf);
    const uint8_t* row = from;
    for (const int32_t weight : taps.weights) {
      for (int64_t i = 0; i < row_bytes; ++i) sums[i] += row[i] * weight;
      row += row_bytes;
    }
    for (int64_t i = 0; i < row_bytes; ++i) to[i] = Rounded(sums[i]);
  }
};

PixelImage KernelResampler::ResizeHeight(const PixelImage& image) const {
  const int64_t row_bytes = image.channels * image.width;
  PixelImage out = {.channels = image.channels,
                    .height = static_cast<int64_t>(rows_.size()),
                    .width = image.width};
  out.pixels.resize(static_cast<size_t>(out.height * row_bytes));
  std::vector<int32_t> sums(static_cast<size_t>(row_bytes));
  uint8_t* to = out.pixels.data();
  for (const Taps& taps : rows_) {
    RunVectorized(
        HeightLoop{.taps = taps,
                   .from = image.pixels.data() + taps.first * row_bytes,
                   .row_bytes = row_bytes,
                   .sums = sums.data(),
                   .to = to});
    to += row_bytes;
  }
  return out;
}

}  // namespace gandem
