// SPDX-License-Identifier: Apache-2.0
#include "evaluation/features/inception_input.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "models/torch.h"

namespace gandem {
namespace {

constexpr int64_t kInceptionSize = 299;

// A pixel of a resized axis lies `weight` of the way from `low` to `high`.
struct InputTap {
  int64_t low;
  int64_t high;
  float weight;
};

// In float32 throughout, as TensorFlow and PyTorch compute it.
std::vector<InputTap> MakeInputTaps(int64_t size, InputResize resize) {
  const float scale =
      static_cast<float>(size) / static_cast<float>(kInceptionSize);
  std::vector<InputTap> taps;
  for (int64_t i = 0; i < kInceptionSize; ++i) {
    const float at =
        resize == InputResize::kTf1
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

// Each resize goes with the range of the program that has it.
Range RangeOf(InputResize resize) {
  return resize == InputResize::kPytorchFid
             ? Range{.shift = 127.5f, .scale = 1.0f / 127.5f}
             : Range{.shift = 128.0f, .scale = 1.0f / 128.0f};
}

float Between(float a, float b, float weight) { return a + (b - a) * weight; }

class BilinearInput {
 public:
  BilinearInput(const at::Tensor& images_NCHW, InputResize resize)
      : channels_(images_NCHW.size(1)),
        width_(images_NCHW.size(3)),
        plane_(images_NCHW.size(2) * width_),
        rows_(MakeInputTaps(images_NCHW.size(2), resize)),
        columns_(MakeInputTaps(width_, resize)),
        range_(RangeOf(resize)) {}

  // One image: CHW bytes to HWC floats.
  void Apply(const uint8_t* in, float* out) const {
    for (const InputTap& row : rows_) {
      for (const InputTap& column : columns_) {
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
  const std::vector<InputTap> rows_;
  const std::vector<InputTap> columns_;
  const Range range_;
};

// A pixel of an axis resized by Pillow: a weighted sum of its neighbors.
struct WideTap {
  int64_t first = 0;
  std::vector<double> weights = {};
};

// Keys 1981, equation 15, for a = -0.5.
double CubicWeight(double at) {
  const double x = std::abs(at);
  if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
  return x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}

// Pillow's precompute_coeffs (src/libImaging/Resample.c).
std::vector<WideTap> MakeWideTaps(int64_t size) {
  const double scale =
      static_cast<double>(size) / static_cast<double>(kInceptionSize);
  const double widening = std::max(scale, 1.0);
  const double support = 2 * widening;
  std::vector<WideTap> taps;
  for (int64_t i = 0; i < kInceptionSize; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const int64_t first =
        std::max(static_cast<int64_t>(center - support + 0.5), int64_t{0});
    const int64_t end =
        std::min(static_cast<int64_t>(center + support + 0.5), size);
    WideTap tap = {.first = first};
    double sum = 0;
    for (int64_t x = first; x < end; ++x) {
      tap.weights.push_back(
          CubicWeight((static_cast<double>(x) - center + 0.5) / widening));
      sum += tap.weights.back();
    }
    for (double& weight : tap.weights) weight /= sum;
    taps.push_back(std::move(tap));
  }
  return taps;
}

// Sums are of doubles and stored as floats, the width first, as in Pillow.
class BicubicInput {
 public:
  explicit BicubicInput(const at::Tensor& images_NCHW)
      : channels_(images_NCHW.size(1)),
        height_(images_NCHW.size(2)),
        width_(images_NCHW.size(3)),
        rows_(MakeWideTaps(height_)),
        columns_(MakeWideTaps(width_)),
        range_(RangeOf(InputResize::kClean)) {}

  // One image: CHW bytes to HWC floats.
  void Apply(const uint8_t* in, float* out) const {
    std::vector<float> narrow;
    for (int64_t c = 0; c < 3; ++c) {
      if (c < channels_) narrow = Narrowed(in + c * height_ * width_);
      for (int64_t y = 0; y < kInceptionSize; ++y) {
        for (int64_t x = 0; x < kInceptionSize; ++x) {
          const float value = Sum(rows_[y], narrow.data() + x, kInceptionSize);
          out[(y * kInceptionSize + x) * 3 + c] =
              (std::clamp(value, 0.0f, 255.0f) - range_.shift) * range_.scale;
        }
      }
    }
  }

 private:
  template <typename Value>
  static float Sum(const WideTap& tap, const Value* values, int64_t stride) {
    double sum = 0;
    const Value* value = values + tap.first * stride;
    for (const double weight : tap.weights) {
      sum += static_cast<double>(*value) * weight;
      value += stride;
    }
    return static_cast<float>(sum);
  }

  // A plane with its own height and the new width.
  std::vector<float> Narrowed(const uint8_t* plane) const {
    std::vector<float> narrow;
    narrow.reserve(static_cast<size_t>(height_ * kInceptionSize));
    for (int64_t y = 0; y < height_; ++y) {
      for (const WideTap& column : columns_) {
        narrow.push_back(Sum(column, plane + y * width_, /*stride=*/1));
      }
    }
    return narrow;
  }

  const int64_t channels_;
  const int64_t height_;
  const int64_t width_;
  const std::vector<WideTap> rows_;
  const std::vector<WideTap> columns_;
  const Range range_;
};

template <typename Input>
void ResizeAll(const Input& input, const at::Tensor& images_NCHW, float* out) {
  const int64_t image_size = images_NCHW[0].numel();
  const uint8_t* in = images_NCHW.const_data_ptr<uint8_t>();
  at::parallel_for(0, images_NCHW.size(0), /*grain_size=*/1,
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) {
                       input.Apply(
                           in + i * image_size,
                           out + i * 3 * kInceptionSize * kInceptionSize);
                     }
                   });
}

struct NamedResize {
  absl::string_view name;
  InputResize resize;
  absl::string_view text;
};
constexpr NamedResize kResizes[] = {
    {"tf1", InputResize::kTf1, "bilinear as in TensorFlow 1, 299 x 299"},
    {"pytorch_fid", InputResize::kPytorchFid,
     "bilinear at pixel centers, 299 x 299"},
    {"clean", InputResize::kClean,
     "bicubic as in Pillow, not rounded, 299 x 299"}};

}  // namespace

absl::StatusOr<InputResize> ParseInputResize(absl::string_view name) {
  if (name.empty()) return InputResize::kTf1;
  const auto found = std::ranges::find(kResizes, name, &NamedResize::name);
  if (found != std::end(kResizes)) return found->resize;
  return absl::InvalidArgumentError(absl::StrCat(
      "input_resize '", name, "' is none of tf1, pytorch_fid, clean"));
}

std::string InputResizeText(InputResize resize) {
  const auto found = std::ranges::find(kResizes, resize, &NamedResize::resize);
  return std::string(found->text);
}

at::Tensor ResizeForInception(const at::Tensor& images_NCHW,
                              InputResize resize) {
  at::Tensor resized =
      torch::empty({images_NCHW.size(0), 3, kInceptionSize, kInceptionSize},
                   torch::kFloat, at::MemoryFormat::ChannelsLast);
  float* const out = resized.mutable_data_ptr<float>();
  if (resize == InputResize::kClean) {
    ResizeAll(BicubicInput(images_NCHW), images_NCHW, out);
  } else {
    ResizeAll(BilinearInput(images_NCHW, resize), images_NCHW, out);
  }
  return resized;
}

}  // namespace gandem
