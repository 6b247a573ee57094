// SPDX-License-Identifier: Apache-2.0
//
// Stored images by index, of any size and color, before anything is done to
// them. sources/ implements it; fitted_images.h makes a Dataset of it.
//
// Owner: the holder.
// Thread safety: immutable after it was opened; all functions from any thread.
// Errors: name the file, and the entry of an archive.
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

// How the images of a source are stored that are no pictures but arrays of
// numbers: latents, spectrograms and the like. Stored bytes are the values, row
// by row, channels first.
struct StoredFormat {
  DType dtype = DType::kF32;  // or kF16
  ImageShape shape = {};

  int64_t sample_bytes() const {
    return shape.NumValues() * BytesPerElement(dtype);
  }
};

// Description of a source, made without reading its images.
struct SourceInfo {
  std::string kind = {};    // "IDX files", "a folder of images": for people
  int64_t size = 0;         // images; at least 1
  int64_t left_out = 0;     // of the source, by a list (sources/image_views.h)
  UnusedFiles unused = {};  // files that were found and are no images of it
  // The shape of all images where the format has one for all.
  std::optional<ImageShape> common_shape = {};
  // Set where the images are tensors (tensor_samples.h is for these); Decode
  // makes a picture of one then, for people.
  std::optional<StoredFormat> tensors = {};
  std::vector<int64_t> labels = {};  // one per image, not negative; or none
  // Names of the labels from 0 on, if the source has names; otherwise empty.
  std::vector<std::string> class_names = {};
  // Why labels that were found are not used, so that there are none; else "".
  std::string unused_labels = {};
  // Approximate size of all images as they are stored. 0: all is in memory.
  int64_t stored_bytes = 0;
  // Whether reading one image reads and keeps more than that image: row groups.
  bool reads_whole_units = false;
  // The first image of each unit of images that lie together (a shard, a row
  // group): from 0 on, rising.
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
  // kNoLabel: there are none.
  int64_t LabelOf(int64_t index) const {
    return info_.labels.empty() ? kNoLabel : info_.labels[index];
  }
  const std::vector<std::string>& class_names() const {
    return info_.class_names;
  }

  // The file and entry of an image, for messages.
  virtual std::string NameOf(int64_t index) const = 0;
  // Name of an image within the source, wherever the source is. Lists of images
  // use these names.
  virtual std::string KeyOf(int64_t index) const {
    return absl::StrCat("image ", index);
  }

  // The bytes of an image as they are stored: waits for disks and networks, and
  // computes nothing. "" where all is in memory.
  //   DATA_LOSS  the file ends before, or is damaged.
  virtual absl::StatusOr<std::string> Fetch(int64_t index) const = 0;
  // Makes an image of `stored` = Fetch(index): computes, and waits for nothing.
  //   DATA_LOSS         this image cannot be decoded.
  //   INVALID_ARGUMENT  it is of a kind that is not read.
  virtual absl::StatusOr<DecodedImage> Decode(
      int64_t index, absl::string_view stored) const = 0;
  // Decodes as ImageReading::kPlain (formats/image_decoder.h) if the format has
  // a difference.
  virtual absl::StatusOr<DecodedImage> DecodePlain(
      int64_t index, absl::string_view stored) const {
    return Decode(index, stored);
  }
  // Fetch and Decode.
  absl::StatusOr<DecodedImage> Read(int64_t index) const {
    GANDEM_ASSIGN_OR_RETURN(const std::string stored, Fetch(index));
    return Decode(index, stored);
  }

  // SHA-256 in hex of the stored bytes. Reads all of them.
  virtual absl::StatusOr<std::string> ContentHash() const = 0;
  // SHA-256 in hex that tells two datasets apart without reading all: of the
  // listing and of some images, evenly spread. An image that cannot be read may
  // be left out of a run (data.exclude), so it is no failure.
  absl::StatusOr<std::string> Fingerprint() const;

 private:
  const SourceInfo info_;  // never changes after construction
};

// A status of unreadable.h with what to do about it; others stay.
inline absl::Status WithAdvice(const absl::Status& status,
                               absl::string_view advice) {
  if (!IsUnreadable(status) || advice.empty()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), "; ", advice));
}

// One more than the largest label; 0: there are no labels.
int64_t NumClasses(const ImageStore& source);

// Up to `count` places of `size`, evenly spread.
std::vector<int64_t> SpreadPlaces(int64_t size, int64_t count);

// Whether the name of each image follows from its place, as in arrays: images
// that are files of their own have no common shape.
inline bool HasComputedNames(const ImageStore& source) {
  return source.info().common_shape.has_value();
}

// SHA-256 in hex of the names within the source and the labels of all images,
// in their order, and of their bytes in all: a file more or less gives all
// others another place in the order. Names that are computed count as the
// number of images and the first name of each unit: two thousand million of
// them cost nothing.
std::string ListingSha256(const ImageStore& source);

// FAILED_PRECONDITION unless it is `expected`; an empty one is any.
absl::Status CheckListing(const ImageStore& source, absl::string_view expected);

}  // namespace gandem
