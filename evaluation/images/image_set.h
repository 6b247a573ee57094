// SPDX-License-Identifier: Apache-2.0
//
// Images by index, as the bytes that features are made of: from a generator
// (generated_images.h), a dataset (dataset_images.h) or files (file_images.h),
// and on request a subset, resized or in pairs (derived_images.h). Image i
// depends neither on the range nor on the thread that reads it.
//
//   ASSIGN(auto source, OpenImageSet(spec));
//   ASSIGN(at::Tensor images_NCHW, source->Read({.first = 64, .count = 64}));
//
// Owner: the caller. Thread safety: one compute thread.
// Errors: Status only; Torch's exceptions end here.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/image_shape.h"
#include "exchange/schedule.h"
#include "proto/evaluation.pb.h"

namespace gandem {

class ImageSet {
 public:
  virtual ~ImageSet() = default;

  // INT64_MAX: the set is endless.
  virtual int64_t size() const = 0;
  // Height and width are 0 if the images have several sizes.
  virtual ImageShape shape() const = 0;

  // Returns uint8 [range.count, channels, height, width] on the CPU,
  // contiguous. Pairs have twice the channels; pairs of a generator's path are
  // float32 in [-1, 1].
  //   OUT_OF_RANGE  the range is empty or does not lie within [0, size()).
  //   DATA_LOSS     an image cannot be read, or holds NaN; names it.
  //   INVALID_ARGUMENT  the images have several sizes.
  absl::StatusOr<at::Tensor> Read(IndexRange range);
  // Returns one tensor per image, uint8 [1, channels, height, width].
  absl::StatusOr<std::vector<at::Tensor>> ReadEach(IndexRange range);
  // Name of an image in messages: its file, if it has one.
  virtual std::string NameOf(int64_t index) const;

  // Description for a metric card, without its number of images and name. Reads
  // all source data to hash it.
  virtual absl::StatusOr<ImagesCard> Describe() const = 0;

 protected:
  // `range` is valid. May throw.
  virtual absl::StatusOr<at::Tensor> ReadImages(IndexRange range) = 0;
  virtual absl::StatusOr<std::vector<at::Tensor>> ReadEachImage(
      IndexRange range);
  // Implements ReadImages by ReadEachImage.
  absl::StatusOr<at::Tensor> ReadOneByOne(IndexRange range);
};

// Errors of the three kinds of source, and
//   INVALID_ARGUMENT  the spec has no kind.
absl::StatusOr<std::unique_ptr<ImageSet>> OpenImageSet(const ImagesSpec& spec);

// Converts [-1, 1] to bytes as in PNG files (common/files/png.h), on the CPU.
at::Tensor QuantizeImages(const at::Tensor& images_NCHW);

inline constexpr char kQuantization[] = "(x + 1) / 2 * 255 + 0.5, truncated";

}  // namespace gandem
