// SPDX-License-Identifier: Apache-2.0
#include "pipeline/kernel_resampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <span>

#include "common/check.h"
#include "common/vectorized.h"

namespace gandem {
namespace {

// Bytes summed in parallel, with vector instructions where available.
constexpr int64_t kByteBlock = 64;
constexpr int kWeightBits = 22;  // weights are in units of 2^-22

// Computes to[i] = sum over k of weights[k] * from[k * step + i] for all i of a
// block, rounded and clamped to [0, 255].
[[gnu::always_inline]] inline void WeightedBytes(
    const uint8_t* from, int64_t step, std::span<const int32_t> weights,
    uint8_t* to) {
  std::array<int32_t, kByteBlock> sums;
  sums.fill(1 << (kWeightBits - 1));
  for (const int32_t weight : weights) {
    for (int64_t i = 0; i < kByteBlock; ++i) sums[i] += weight * from[i];
    from += step;
  }
  for (int64_t i = 0; i < kByteBlock; ++i) {
    to[i] = static_cast<uint8_t>(std::clamp(sums[i] >> kWeightBits, 0, 255));
  }
}

// Pads or truncates rows from `from` to `to` bytes.
std::vector<uint8_t> WithRowBytes(const std::vector<uint8_t>& rows,
                                  int64_t from, int64_t to) {
  const int64_t count = static_cast<int64_t>(rows.size()) / from;
  std::vector<uint8_t> changed(static_cast<size_t>(count * to));
  for (int64_t i = 0; i < count; ++i) {
    std::copy_n(rows.data() + i * from, std::min(from, to),
                changed.data() + i * to);
  }
  return changed;
}

// Returns the distance from the center beyond which a kernel is 0.
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
      // Multiplies by the reciprocal, as Pillow does, to match the last bit.
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

// Resizes the width of kByteBlock rows at once, transposed into `across`, so
// that one weight applies to all rows.
struct KernelResampler::WidthLoop {
  const std::vector<Taps>& columns;
  int64_t channels;
  int64_t from_bytes;  // per row
  std::array<const uint8_t*, kByteBlock> from;
  std::array<uint8_t*, kByteBlock> to;
  uint8_t* across;  // buffer of from_bytes blocks

  [[gnu::always_inline]] void operator()() const {
    for (int64_t at = 0; at < from_bytes; ++at) {
      for (int64_t row = 0; row < kByteBlock; ++row) {
        across[at * kByteBlock + row] = from[row][at];
      }
    }
    int64_t at = 0;
    std::array<uint8_t, kByteBlock> block;
    for (const Taps& taps : columns) {
      for (int64_t c = 0; c < channels; ++c, ++at) {
        WeightedBytes(across + (taps.first * channels + c) * kByteBlock,
                      channels * kByteBlock, taps.weights, block.data());
        for (int64_t row = 0; row < kByteBlock; ++row) to[row][at] = block[row];
      }
    }
  }
};

PixelImage KernelResampler::ResizeWidth(const PixelImage& image) const {
  const int64_t from_bytes = image.width * image.channels;
  PixelImage out = {.channels = image.channels,
                    .height = image.height,
                    .width = static_cast<int64_t>(columns_.size())};
  const int64_t to_bytes = out.width * out.channels;
  out.pixels.resize(static_cast<size_t>(out.height * to_bytes));
  std::vector<uint8_t> across(static_cast<size_t>(from_bytes * kByteBlock));
  std::vector<uint8_t> unused(static_cast<size_t>(to_bytes));
  for (int64_t y = 0; y < image.height; y += kByteBlock) {
    WidthLoop loop = {.columns = columns_,
                      .channels = image.channels,
                      .from_bytes = from_bytes,
                      .from = {},
                      .to = {},
                      .across = across.data()};
    for (int64_t i = 0; i < kByteBlock; ++i) {
      const int64_t row = std::min(y + i, image.height - 1);
      loop.from[i] = image.pixels.data() + row * from_bytes;
      loop.to[i] = y + i < image.height ? out.pixels.data() + (y + i) * to_bytes
                                        : unused.data();
    }
    RunVectorized(loop);
  }
  return out;
}

// Computes all output rows, which have at least kByteBlock bytes.
struct KernelResampler::HeightLoop {
  const std::vector<Taps>& rows;
  const uint8_t* from;
  int64_t row_bytes;
  uint8_t* to;

  [[gnu::always_inline]] void operator()() const {
    uint8_t* row = to;
    for (const Taps& taps : rows) {
      for (int64_t begin = 0; begin < row_bytes; begin += kByteBlock) {
        // The last block may overlap the previous one.
        const int64_t at = std::min(begin, row_bytes - kByteBlock);
        WeightedBytes(from + taps.first * row_bytes + at, row_bytes,
                      taps.weights, row + at);
      }
      row += row_bytes;
    }
  }
};

PixelImage KernelResampler::ResizeHeight(const PixelImage& image) const {
  const int64_t row_bytes = image.channels * image.width;
  PixelImage out = {.channels = image.channels,
                    .height = static_cast<int64_t>(rows_.size()),
                    .width = image.width};
  if (row_bytes < kByteBlock) {
    // Pad rows to a block.
    const PixelImage padded = {
        .channels = 1,
        .height = image.height,
        .width = kByteBlock,
        .pixels = WithRowBytes(image.pixels, row_bytes, kByteBlock)};
    out.pixels =
        WithRowBytes(ResizeHeight(padded).pixels, kByteBlock, row_bytes);
    return out;
  }
  out.pixels.resize(static_cast<size_t>(out.height * row_bytes));
  RunVectorized(HeightLoop{.rows = rows_,
                           .from = image.pixels.data(),
                           .row_bytes = row_bytes,
                           .to = out.pixels.data()});
  return out;
}

}  // namespace gandem
