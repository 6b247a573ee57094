// SPDX-License-Identifier: Apache-2.0
#include "pipeline/kernel_resampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "common/check.h"
#include "common/vectorized.h"
#include "pipeline/memory/spare_bytes.h"
#include "pipeline/weighted_bytes.h"

namespace gandem {
namespace {

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
  PixelImage narrowed = ResizeWidth(image);
  PixelImage out = ResizeHeight(narrowed);
  KeepSpareBytes(std::move(narrowed.pixels));
  return out;
}

// Of kByteBlock rows, whose bytes lie beside each other here: a weight is for
// all of them.
struct KernelResampler::WidthLoop {
  const std::vector<Taps>& columns;
  int64_t channels;
  int64_t from_bytes;  // of a row
  std::array<const uint8_t*, kByteBlock> from;
  std::array<uint8_t*, kByteBlock> to;
  uint8_t* across;  // room for from_bytes + to_bytes blocks

  [[gnu::always_inline]] void operator()() const {
    const auto to_bytes = static_cast<int64_t>(columns.size()) * channels;
    uint8_t* const resized = across + from_bytes * kByteBlock;
    TransposeBytes(
        kByteBlock, from_bytes, [this](int64_t row) { return from[row]; },
        [this](int64_t at) { return across + at * kByteBlock; });
    uint8_t* block = resized;
    for (const Taps& taps : columns) {
      for (int64_t c = 0; c < channels; ++c, block += kByteBlock) {
        WeightedBytes(across + (taps.first * channels + c) * kByteBlock,
                      channels * kByteBlock, taps.weights, block);
      }
    }
    TransposeBytes(
        to_bytes, kByteBlock,
        [resized](int64_t at) { return resized + at * kByteBlock; },
        [this](int64_t row) { return to[row]; });
  }
};

PixelImage KernelResampler::ResizeWidth(const PixelImage& image) const {
  const int64_t from_bytes = image.width * image.channels;
  PixelImage out = {.channels = image.channels,
                    .height = image.height,
                    .width = static_cast<int64_t>(columns_.size())};
  const int64_t to_bytes = out.width * out.channels;
  out.pixels = TakeSpareBytes(static_cast<size_t>(out.height * to_bytes));
  std::vector<uint8_t> across =
      TakeSpareBytes(static_cast<size_t>((from_bytes + to_bytes) * kByteBlock));
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
  KeepSpareBytes(std::move(across));
  return out;
}

// All rows that come out; they have a block of bytes at least.
struct KernelResampler::HeightLoop {
  const std::vector<Taps>& rows;
  const uint8_t* from;
  int64_t row_bytes;
  uint8_t* to;

  [[gnu::always_inline]] void operator()() const {
    uint8_t* row = to;
    for (const Taps& taps : rows) {
      for (int64_t begin = 0; begin < row_bytes; begin += kByteBlock) {
        // The last block may have bytes of the one before it.
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
  out.pixels = TakeSpareBytes(static_cast<size_t>(out.height * row_bytes));
  if (row_bytes >= kByteBlock) {
    RunVectorized(HeightLoop{.rows = rows_,
                             .from = image.pixels.data(),
                             .row_bytes = row_bytes,
                             .to = out.pixels.data()});
    return out;
  }
  // Narrower ones have a block's bytes behind each row.
  std::vector<uint8_t> padded(static_cast<size_t>(image.height * kByteBlock));
  std::vector<uint8_t> resized(static_cast<size_t>(out.height * kByteBlock));
  for (int64_t y = 0; y < image.height; ++y) {
    std::copy_n(image.pixels.data() + y * row_bytes, row_bytes,
                padded.data() + y * kByteBlock);
  }
  RunVectorized(HeightLoop{.rows = rows_,
                           .from = padded.data(),
                           .row_bytes = kByteBlock,
                           .to = resized.data()});
  for (int64_t y = 0; y < out.height; ++y) {
    std::copy_n(resized.data() + y * kByteBlock, row_bytes,
                out.pixels.data() + y * row_bytes);
  }
  return out;
}

}  // namespace gandem
