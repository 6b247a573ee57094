// SPDX-License-Identifier: Apache-2.0
#include "pipeline/transforms.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr float kBackground = -1.0f;

absl::Status BadSize(absl::string_view what, int64_t size,
                     const ImageShape& shape) {
  return absl::InvalidArgumentError(absl::StrCat("data.image_size ", size, what,
                                                 shape.height, " x ",
                                                 shape.width, " pixels"));
}

class Padded : public Dataset {
 public:
  Padded(std::unique_ptr<Dataset> inner, ImageShape shape)
      : inner_(std::move(inner)), shape_(shape) {}

  int64_t size() const override { return inner_->size(); }
  ImageShape shape() const override { return shape_; }

  absl::StatusOr<int64_t> Read(int64_t index,
                               std::span<float> out) const override {
    GANDEM_CHECK(static_cast<int64_t>(out.size()) == shape_.NumValues());
    const ImageShape from = inner_->shape();
    std::vector<float> image(from.NumValues());
    GANDEM_ASSIGN_OR_RETURN(const int64_t label, inner_->Read(index, image));
    const int64_t top = (shape_.height - from.height) / 2;
    const int64_t left = (shape_.width - from.width) / 2;
    std::fill(out.begin(), out.end(), kBackground);
    for (int64_t c = 0; c < from.channels; ++c) {
      for (int64_t y = 0; y < from.height; ++y) {
        const float* row = image.data() + (c * from.height + y) * from.width;
        float* target =
            out.data() + (c * shape_.height + top + y) * shape_.width + left;
        std::copy(row, row + from.width, target);
      }
    }
    return label;
  }

 private:
  const std::unique_ptr<Dataset> inner_;  // never changes after construction
  const ImageShape shape_;
};

// One pixel of a resized axis: a weighted sum of neighboring source pixels.
struct Tap {
  int64_t first = 0;
  std::vector<float> weights = {};
};

Tap AreaTap(int64_t i, int64_t from, int64_t to) {
  // In units of 1/to of a source pixel everything is an integer.
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

Tap BilinearTap(int64_t i, int64_t from, int64_t to) {
  const double center = (i + 0.5) * from / to - 0.5;
  const double position =
      std::clamp(center, 0.0, static_cast<double>(from - 1));
  const int64_t first = static_cast<int64_t>(position);
  const double fraction = position - static_cast<double>(first);
  if (fraction == 0.0) return {.first = first, .weights = {1.0f}};
  return {.first = first,
          .weights = {static_cast<float>(1.0 - fraction),
                      static_cast<float>(fraction)}};
}

std::vector<Tap> MakeTaps(int64_t from, int64_t to) {
  std::vector<Tap> taps;
  for (int64_t i = 0; i < to; ++i) {
    taps.push_back(from > to ? AreaTap(i, from, to) : BilinearTap(i, from, to));
  }
  return taps;
}

class Resized : public Dataset {
 public:
  Resized(std::unique_ptr<Dataset> inner, ImageShape shape)
      : inner_(std::move(inner)),
        shape_(shape),
        rows_(MakeTaps(inner_->shape().height, shape.height)),
        columns_(MakeTaps(inner_->shape().width, shape.width)) {}

  int64_t size() const override { return inner_->size(); }
  ImageShape shape() const override { return shape_; }

  absl::StatusOr<int64_t> Read(int64_t index,
                               std::span<float> out) const override {
    GANDEM_CHECK(static_cast<int64_t>(out.size()) == shape_.NumValues());
    const ImageShape from = inner_->shape();
    std::vector<float> image(from.NumValues());
    GANDEM_ASSIGN_OR_RETURN(const int64_t label, inner_->Read(index, image));
    std::vector<float> narrow(from.channels * from.height * shape_.width);
    for (int64_t row = 0; row < from.channels * from.height; ++row) {
      ResizeRow(image.data() + row * from.width,
                narrow.data() + row * shape_.width);
    }
    for (int64_t c = 0; c < from.channels; ++c) {
      ResizeColumns(narrow.data() + c * from.height * shape_.width,
                    out.data() + c * shape_.height * shape_.width);
    }
    return label;
  }

 private:
  void ResizeRow(const float* in, float* out) const {
    for (int64_t x = 0; x < shape_.width; ++x) {
      const Tap& tap = columns_[x];
      float sum = 0.0f;
      for (size_t k = 0; k < tap.weights.size(); ++k) {
        sum += tap.weights[k] * in[tap.first + static_cast<int64_t>(k)];
      }
      out[x] = std::clamp(sum, -1.0f, 1.0f);  // rounding may leave [-1, 1]
    }
  }

  void ResizeColumns(const float* in, float* out) const {
    for (int64_t y = 0; y < shape_.height; ++y) {
      const Tap& tap = rows_[y];
      for (int64_t x = 0; x < shape_.width; ++x) {
        float sum = 0.0f;
        for (size_t k = 0; k < tap.weights.size(); ++k) {
          sum += tap.weights[k] *
                 in[(tap.first + static_cast<int64_t>(k)) * shape_.width + x];
        }
        out[y * shape_.width + x] = std::clamp(sum, -1.0f, 1.0f);
      }
    }
  }

  // Never change after construction.
  const std::unique_ptr<Dataset> inner_;
  const ImageShape shape_;
  const std::vector<Tap> rows_;
  const std::vector<Tap> columns_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> PadTo(std::unique_ptr<Dataset> inner,
                                               int64_t size) {
  const ImageShape from = inner->shape();
  if (size < from.height || size < from.width) {
    return BadSize(" is too small for data.fit: PAD; use RESIZE or at least ",
                   size, from);
  }
  const ImageShape shape = {
      .channels = from.channels, .height = size, .width = size};
  if (shape == from) return inner;
  return std::make_unique<Padded>(std::move(inner), shape);
}

absl::StatusOr<std::unique_ptr<Dataset>> ResizeTo(
    std::unique_ptr<Dataset> inner, int64_t size) {
  const ImageShape from = inner->shape();
  if (size < 1) return BadSize(" is below 1; the images have ", size, from);
  const ImageShape shape = {
      .channels = from.channels, .height = size, .width = size};
  if (shape == from) return inner;
  return std::make_unique<Resized>(std::move(inner), shape);
}

}  // namespace gandem
