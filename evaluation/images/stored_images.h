// SPDX-License-Identifier: Apache-2.0
//
// The images of a source as the programs that compute metrics read them:
// Pillow's Image.open(file).convert("RGB"), each in its own size. Where all of
// them are gray they keep their one channel, which stands for three equal ones.
//
//   ASSIGN(auto images, StoredImages::Open(*OpenSource(path)));
//   ASSIGN(const PixelImage image, images->Read(7));
//
// Owner: whoever holds it. Thread safety: immutable; any thread.
// Errors: those of the source; they name the file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/image_shape.h"
#include "pipeline/image_store.h"

namespace gandem {

class StoredImages {
 public:
  // Looks at the headers of all files, so that nothing is found out in the
  // middle of an evaluation, unless `known` is the shape() of such a look.
  static absl::StatusOr<std::unique_ptr<StoredImages>> Open(
      std::unique_ptr<const ImageStore> source,
      std::optional<ImageShape> known = std::nullopt);

  const ImageStore& source() const { return *source_; }
  // Of all images. Height and width are 0 where they are of several sizes.
  ImageShape shape() const { return shape_; }

  // With shape().channels, in its own size.
  //   DATA_LOSS         it cannot be decoded.
  //   INVALID_ARGUMENT  it is of a kind that is not read
  //   (ImageReading::kPlain),
  //                     or not what its header was: it was changed.
  absl::StatusOr<PixelImage> Read(int64_t index) const;

 private:
  StoredImages(std::unique_ptr<const ImageStore> source, ImageShape shape)
      : source_(std::move(source)), shape_(shape) {}

  // Never change after construction.
  const std::unique_ptr<const ImageStore> source_;
  const ImageShape shape_;
};

}  // namespace gandem
