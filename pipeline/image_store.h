// SPDX-License-Identifier: Apache-2.0
//
// Stored images by index, of any size and color, unprocessed. sources/
// implements ImageStore; fitted_images.h makes a Dataset of it.
//
// Owner: the holder. Thread safety: immutable after opening; all functions from
// any thread. Errors: name the file and the entry of an archive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/checkpoint/safetensors.h"
#include "common/image_shape.h"
#include "common/status.h"
#include "pipeline/dataset.h"
#include "pipeline/decoded_image.h"
#include "pipeline/unreadable.h"
#include "pipeline/unused_files.h"

namespace gandem {

// Format of sources of arrays instead of pictures, such as latents and
// spectrograms. Bytes are the values, row by row, channels first.
struct StoredFormat {
  DType dtype = DType::kF32;  // or kF16
  ImageShape shape = {};

  int64_t sample_bytes() const {
    return shape.NumValues() * BytesPerElement(dtype);
  }
};

struct SourceInfo {
  std::string kind = {};    // for people: "IDX files", "a folder of images"
  int64_t size = 0;         // images; at least 1
  int64_t left_out = 0;     // excluded images (sources/image_views.h)
  UnusedFiles unused = {};  // files that are not images of the source
  // Shape of all images, if the format has one for all.
  std::optional<ImageShape> common_shape = {};
  // Set if the images are tensors, which Decode renders for people.
  std::optional<StoredFormat> tensors = {};
  std::vector<int64_t> labels = {};  // one per image, >= 0; or empty
  // Names of labels 0, 1, ...; empty if the source has none.
  std::vector<std::string> class_names = {};
  // Reason why existing labels are not used; "" if they are.
  std::string unused_labels = {};
  // Approximate stored size of all images. 0: all are in memory.
  int64_t stored_bytes = 0;
  // Whether reading an image caches a larger unit, such as a row group.
  bool reads_whole_units = false;
  // Increasing indices of the first image of each unit (shard, row group).
  std::vector<int64_t> units = {0};
};

class ImageStore {
 public:
  explicit ImageStore(SourceInfo info) : info_(std::move(info)) {}
  virtual ~ImageStore() = default;

  const SourceInfo& info() const { return info_; }
  const std::string& kind() const { return info_.kind; }
  int64_t size() const { return info_.size; }
  const std::optional<StoredFormat>& tensors() const { return info_.tensors; }
  int64_t LabelOf(int64_t index) const {
    return info_.labels.empty() ? kNoLabel : info_.labels[index];
  }
  const std::vector<std::string>& class_names() const {
    return info_.class_names;
  }

  // Returns an image's name for messages: its file and entry.
  virtual std::string NameOf(int64_t index) const = 0;
  // Returns an image's name within the source, independent of the source's
  // location. Exclude lists use these names.
  virtual std::string KeyOf(int64_t index) const {
    return absl::StrCat("image ", index);
  }

  // Reads the stored bytes of an image: waits for disks and networks without
  // computing. Returns "" if all images are in memory.
  //   DATA_LOSS  the file is shorter than expected or damaged.
  virtual absl::StatusOr<std::string> Fetch(int64_t index) const = 0;
  // Decodes `stored` = Fetch(index): computes without waiting.
  //   DATA_LOSS         this image cannot be decoded.
  //   INVALID_ARGUMENT  the image is of an unsupported kind.
  virtual absl::StatusOr<DecodedImage> Decode(
      int64_t index, absl::string_view stored) const = 0;
  // Decodes as ImageReading::kPlain (formats/image_decoder.h).
  virtual absl::StatusOr<DecodedImage> DecodePlain(
      int64_t index, absl::string_view stored) const {
    return Decode(index, stored);
  }
  absl::StatusOr<DecodedImage> Read(int64_t index) const {
    GANDEM_ASSIGN_OR_RETURN(const std::string stored, Fetch(index));
    return Decode(index, stored);
  }

  // Hashes all stored bytes: SHA-256 in hex.
  virtual absl::StatusOr<std::string> ContentHash() const = 0;
  // Identifies the dataset without reading all of it: SHA-256 in hex of the
  // listing and of evenly spaced images. Skips unreadable images, because a run
  // may leave them out (data.exclude).
  absl::StatusOr<std::string> Fingerprint() const;

 private:
  const SourceInfo info_;  // never changes after construction
};

// Appends `advice` to the message if the image is unreadable (unreadable.h).
inline absl::Status WithAdvice(const absl::Status& status,
                               absl::string_view advice) {
  if (!IsUnreadable(status) || advice.empty()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), "; ", advice));
}

// Returns the largest label + 1; 0: there are no labels.
int64_t NumClasses(const ImageStore& source);

// Returns up to `count` evenly spaced indices below `size`.
std::vector<int64_t> SpreadPlaces(int64_t size, int64_t count);

// Returns whether image names follow from the index, as in arrays. Images in
// files of their own have no common shape.
inline bool HasComputedNames(const ImageStore& source) {
  return source.info().common_shape.has_value();
}

// Hashes names within the source, labels and total bytes of all images in
// order: SHA-256 in hex. Computed names are represented by the number of images
// and the first name of each unit, so that huge arrays cost nothing.
std::string ListingSha256(const ImageStore& source);

// Returns FAILED_PRECONDITION if the listing's hash is not `expected`. An empty
// `expected` matches anything.
absl::Status CheckListing(const ImageStore& source, absl::string_view expected);

}  // namespace gandem
