// SPDX-License-Identifier: Apache-2.0
//
// Resizes 8-bit images bit for bit as Pillow's Image.resize: separable
// convolution whose kernel widens with the reduction factor to avoid aliasing
// (Parmar et al. 2022, "On aliased resizing"). Resizes the width first, then
// the height, in 22-bit fixed point, rounding to 8 bits after each. (Pillow 13
// swaps the axes for some sizes.)
//
// Owner: values; copy freely.
// Thread safety: immutable after construction; Apply from any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "common/files/png.h"

namespace gandem {

// Pillow's kernels and constants: bicubic with a = -0.5, Lanczos with a = 3.
enum class ResizeKernel { kBox, kBilinear, kBicubic, kLanczos };

class KernelResampler {
 public:
  // All sizes are at least 1.
  KernelResampler(ResizeKernel kernel, int64_t from_height, int64_t from_width,
                  int64_t to_height, int64_t to_width);

  bool IsFrom(int64_t height, int64_t width) const {
    return from_height_ == height && from_width_ == width;
  }

  // `image` is from_height x from_width, with any number of channels.
  PixelImage Apply(const PixelImage& image) const;

 private:
  // One pixel of a resized axis: a weighted sum of neighboring source pixels.
  struct Taps {
    int64_t first = 0;
    std::vector<int32_t> weights = {};  // in units of 2^-22
  };
  struct WidthLoop;
  struct HeightLoop;
  static std::vector<Taps> MakeTaps(ResizeKernel kernel, int64_t from,
                                    int64_t to);
  PixelImage ResizeWidth(const PixelImage& image) const;
  PixelImage ResizeHeight(const PixelImage& image) const;

  int64_t from_height_;
  int64_t from_width_;
  std::vector<Taps> rows_;     // empty: the height is unchanged
  std::vector<Taps> columns_;  // empty: the width is unchanged
};

}  // namespace gandem
