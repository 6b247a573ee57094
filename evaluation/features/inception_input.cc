// SPDX-License-Identifier: Apache-2.0
#include "evaluation/features/inception_input.h"

#include <algorithm>
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

// Computes in float32, as TensorFlow and PyTorch do.
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

// Maps a byte to the network's range: (value - shift) * scale.
struct Range {
  float shift;
  float scale;
};

// Each resize has the range of the program that it comes from.
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

  // Converts an image from CHW bytes to HWC floats.
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

// Pillow's bicubic resize for floats, which sums in float64.
at::Tensor ResizeAsPillow(const at::Tensor& images_NCHW) {
  const Range range = RangeOf(InputResize::kClean);
  return at::_upsample_bicubic2d_aa(images_NCHW.to(at::kDouble),
                                    {kInceptionSize, kInceptionSize},
                                    /*align_corners=*/false)
      .clamp_(0, 255)
      .sub_(range.shift)
      .mul_(range.scale)
      .to(at::kFloat)
      .expand({-1, 3, -1, -1})
      .contiguous(at::MemoryFormat::ChannelsLast);
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
  if (resize == InputResize::kClean) return ResizeAsPillow(images_NCHW);
  at::Tensor resized =
      torch::empty({images_NCHW.size(0), 3, kInceptionSize, kInceptionSize},
                   torch::kFloat, at::MemoryFormat::ChannelsLast);
  const BilinearInput input(images_NCHW, resize);
  const int64_t image_size = images_NCHW[0].numel();
  const uint8_t* in = images_NCHW.const_data_ptr<uint8_t>();
  float* out = resized.mutable_data_ptr<float>();
  at::parallel_for(0, images_NCHW.size(0), /*grain_size=*/1,
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) {
                       input.Apply(
                           in + i * image_size,
                           out + i * 3 * kInceptionSize * kInceptionSize);
                     }
                   });
  return resized;
}

}  // namespace gandem
