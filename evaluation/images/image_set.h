// SPDX-License-Identifier: Apache-2.0
//
// Images by index, as the bytes that features are made of: those of a generator
// (generated_images.h), of a dataset (dataset_images.h) or of files
// (file_images.h); some of them, in another size, or in pairs if so wished
// (derived_images.h). Image i never depends on how many are read, or on who
// reads.
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

  // INT64_MAX: as many as are wanted.
  virtual int64_t size() const = 0;
  // Height and width are 0 where the images are of several sizes.
  virtual ImageShape shape() const = 0;

  // uint8 [range.count, channels, height, width] on the CPU, contiguous. Pairs
  // have twice the channels, and those of a generator's path are float32 in
  // [-1, 1].
  //   OUT_OF_RANGE  the range is empty or does not lie within [0, size()).
  //   DATA_LOSS     an image cannot be read, or holds NaN; names it.
  //   INVALID_ARGUMENT  they are of several sizes.
  absl::StatusOr<at::Tensor> Read(IndexRange range);
  // The same, uint8 [1, channels, height, width] each.
  absl::StatusOr<std::vector<at::Tensor>> ReadEach(IndexRange range);
  // What an image is called, for messages: its file where there is one.
  virtual std::string NameOf(int64_t index) const;

  // What a metric card says of the images, but for their number and name.
  // Reads everything that they are made of to hash it.
  virtual absl::StatusOr<ImagesCard> Describe() const = 0;

 protected:
  // The range is valid. May throw.
  virtual absl::StatusOr<at::Tensor> ReadImages(IndexRange range) = 0;
  virtual absl::StatusOr<std::vector<at::Tensor>> ReadEachImage(
      IndexRange range);
  // ReadImages of a set that has its images by ReadEachImage.
  absl::StatusOr<at::Tensor> ReadOneByOne(IndexRange range);
};

// Errors of the three kinds of source, and
//   INVALID_ARGUMENT  the spec is of no kind.
absl::StatusOr<std::unique_ptr<ImageSet>> OpenImageSet(const ImagesSpec& spec);

// [-1, 1] to bytes as PNG files get them (common/files/png.h), on the CPU.
at::Tensor QuantizeImages(const at::Tensor& images_NCHW);

inline constexpr char kQuantization[] = "(x + 1) / 2 * 255 + 0.5, truncated";

}  // namespace gandem
