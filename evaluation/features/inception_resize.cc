// SPDX-License-Identifier: Apache-2.0
#include "evaluation/features/inception_resize.h"

#include <algorithm>
#include <vector>

#include "models/torch.h"

namespace gandem {
namespace {

// A pixel of a resized axis lies `weight` of the way from `low` to `high`.
struct Tap {
  int64_t low;
  int64_t high;
  float weight;
};

// In float32 throughout, as TensorFlow and PyTorch compute it.
std::vector<Tap> MakeTaps(int64_t size, ResizeKernel kernel) {
  const float scale =
      static_cast<float>(size) / static_cast<float>(kInceptionSize);
  std::vector<Tap> taps;
  for (int64_t i = 0; i < kInceptionSize; ++i) {
    const float at =
        kernel == ResizeKernel::kTf1Bilinear
            ? static_cast<float>(i) * scale
            : std::max(0.0f, scale * (static_cast<float>(i) + 0.5f) - 0.5f);
    const int64_t low = std::min(static_cast<int64_t>(at), size - 1);
    taps.push_back({.low = low,
                    .high = std::min(low + 1, size - 1),
                    .weight = at - static_cast<float>(low)});
  }
  return taps;
}

// From byte to the network's range: (value - shift) * scale.
struct Range {
  float shift;
  float scale;
};

// Each kernel goes with the range of the program that has it.
Range RangeOf(ResizeKernel kernel) {
  return kernel == ResizeKernel::kTf1Bilinear
             ? Range{.shift = 128.0f, .scale = 1.0f / 128.0f}
             : Range{.shift = 127.5f, .scale = 1.0f / 127.5f};
}

float Between(float a, float b, float weight) { return a + (b - a) * weight; }

class Resizer {
 public:
  Resizer(const at::Tensor& images_NCHW, ResizeKernel kernel)
      : channels_(images_NCHW.size(1)),
        width_(images_NCHW.size(3)),
        plane_(images_NCHW.size(2) * width_),
        rows_(MakeTaps(images_NCHW.size(2), kernel)),
        columns_(MakeTaps(width_, kernel)),
        range_(RangeOf(kernel)) {}

  // One image: CHW bytes to HWC floats.
  void Apply(const uint8_t* in, float* out) const {
    for (const Tap& row : rows_) {
      for (const Tap& column : columns_) {
        for (int64_t c = 0; c < 3; ++c) {
          const uint8_t* plane = in + (channels_ == 3 ? c : 0) * plane_;
          const uint8_t* top = plane + row.low * width_;
          const uint8_t* bottom = plane + row.high * width_;
          const float value = Between(
              Between(top[column.low], top[column.high], column.weight),
              Between(bottom[column.low], bottom[column.high], column.weight),
              row.weight);
          *out++ = (value - range_.shift) * range_.scale;
        }
      }
    }
  }

 private:
  const int64_t channels_;
  const int64_t width_;
  const int64_t plane_;
  const std::vector<Tap> rows_;
  const std::vector<Tap> columns_;
  const Range range_;
};

}  // namespace

std::string ResizeName(ResizeKernel kernel) {
  return kernel == ResizeKernel::kTf1Bilinear
             ? "bilinear as in TensorFlow 1, 299 x 299"
             : "bilinear at pixel centers, 299 x 299";
}

at::Tensor ResizeForInception(const at::Tensor& images_NCHW,
                              ResizeKernel kernel) {
  const int64_t count = images_NCHW.size(0);
  at::Tensor resized =
      torch::empty({count, 3, kInceptionSize, kInceptionSize}, torch::kFloat,
                   at::MemoryFormat::ChannelsLast);
  const Resizer resizer(images_NCHW, kernel);
  const int64_t image_size = images_NCHW[0].numel();
  const uint8_t* in = images_NCHW.const_data_ptr<uint8_t>();
  float* out = resized.mutable_data_ptr<float>();
  at::parallel_for(0, count, /*grain_size=*/1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      resizer.Apply(in + i * image_size,
                    out + i * 3 * kInceptionSize * kInceptionSize);
    }
  });
  return resized;
}

}  // namespace gandem
