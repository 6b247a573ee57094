// SPDX-License-Identifier: Apache-2.0
#include "pipeline/transforms.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/files/sha256.h"
#include "common/status.h"
#include "pipeline/resampler.h"

namespace gandem {
namespace {

constexpr float kBackground = -1.0f;

absl::Status BadSize(absl::string_view what, int64_t size,
                     const ImageShape& shape) {
  return absl::InvalidArgumentError(absl::StrCat("data.image_size ", size, what,
                                                 shape.height, " x ",
                                                 shape.width, " pixels"));
}

// The same images in another shape.
class Reshaped : public Dataset {
 public:
  Reshaped(std::unique_ptr<Dataset> inner, ImageShape shape)
      : inner_(std::move(inner)), shape_(shape) {}

  int64_t size() const override { return inner_->size(); }
  ImageShape shape() const override { return shape_; }
  absl::StatusOr<std::string> ContentHash() const override {
    return inner_->ContentHash();
  }

 protected:
  // Never change after construction.
  const std::unique_ptr<Dataset> inner_;
  const ImageShape shape_;
};

class Padded : public Reshaped {
 public:
  using Reshaped::Reshaped;

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
};

class Resized : public Reshaped {
 public:
  Resized(std::unique_ptr<Dataset> inner, ImageShape shape)
      : Reshaped(std::move(inner), shape), resampler_(inner_->shape(), shape) {}

  absl::StatusOr<int64_t> Read(int64_t index,
                               std::span<float> out) const override {
    std::vector<float> image(inner_->shape().NumValues());
    GANDEM_ASSIGN_OR_RETURN(const int64_t label, inner_->Read(index, image));
    resampler_.Apply(image, out);
    return label;
  }

 private:
  const Resampler resampler_;  // never changes after construction
};

class Joined : public Dataset {
 public:
  Joined(std::unique_ptr<Dataset> first, std::unique_ptr<Dataset> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  int64_t size() const override { return first_->size(); }
  ImageShape shape() const override {
    ImageShape shape = first_->shape();
    shape.channels += second_->shape().channels;
    return shape;
  }

  absl::StatusOr<int64_t> Read(int64_t index,
                               std::span<float> out) const override {
    const auto split = static_cast<size_t>(first_->shape().NumValues());
    GANDEM_RETURN_IF_ERROR(second_->Read(index, out.subspan(split)).status());
    return first_->Read(index, out.first(split));
  }

  absl::StatusOr<std::string> ContentHash() const override {
    GANDEM_ASSIGN_OR_RETURN(const std::string first, first_->ContentHash());
    GANDEM_ASSIGN_OR_RETURN(const std::string second, second_->ContentHash());
    Sha256 hash;
    hash.Update(absl::StrCat("pairs ", first, " ", second));
    return hash.Finish();
  }

 private:
  // Never change after construction.
  const std::unique_ptr<Dataset> first_;
  const std::unique_ptr<Dataset> second_;
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

absl::StatusOr<std::unique_ptr<Dataset>> JoinPairs(
    std::unique_ptr<Dataset> first, std::unique_ptr<Dataset> second) {
  const ImageShape a = first->shape();
  const ImageShape b = second->shape();
  GANDEM_CHECK(a.height == b.height && a.width == b.width);
  if (first->size() != second->size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("pairs: ", first->size(), " images and ", second->size(),
                     " to be joined to them; expected one for each"));
  }
  return std::make_unique<Joined>(std::move(first), std::move(second));
}

}  // namespace gandem
