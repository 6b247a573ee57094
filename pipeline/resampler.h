// SPDX-License-Identifier: Apache-2.0
//
// Resizes images, one axis at a time: area average when shrinking, bilinear
// interpolation between pixel centers, with repeated edges, when growing.
//
// Owner: values; copy freely.
// Thread safety: immutable after construction; Apply from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/image_shape.h"

namespace gandem {

class Resampler {
 public:
  // The shapes have equal channels and no empty axis.
  Resampler(ImageShape from, ImageShape to);

  // Resizes one image, CHW. Values in [-1, 1] stay in that range.
  void Apply(std::span<const float> in, std::span<float> out) const;

 private:
  // One pixel of a resized axis: a weighted sum of neighboring source pixels.
  struct Tap {
    int64_t first = 0;
    std::vector<float> weights = {};
  };
  static Tap AreaTap(int64_t i, int64_t from, int64_t to);
  static Tap BilinearTap(int64_t i, int64_t from, int64_t to);
  static std::vector<Tap> MakeTaps(int64_t from, int64_t to);
  static float Sum(const Tap& tap, const float* in, int64_t stride);
  void ResizeRow(const float* in, float* out) const;
  void ResizeColumns(const float* in, float* out) const;

  ImageShape from_;
  ImageShape to_;
  std::vector<Tap> rows_;
  std::vector<Tap> columns_;
};

}  // namespace gandem
