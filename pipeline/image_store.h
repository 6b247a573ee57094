// SPDX-License-Identifier: Apache-2.0
//
// Stored images by index, of any size and color, before anything is done to
// them. sources/ implements it; fitted_images.h makes a Dataset of it.
//
// Owner: whoever holds it.
// Thread safety: immutable after it was opened; all functions from any thread.
// Errors: name the file, and the entry of an archive.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

class ImageStore {
 public:
  virtual ~ImageStore() = default;

  // "IDX files", "a folder of images": what it is, for people.
  virtual std::string kind() const = 0;
  // Images; at least 1.
  virtual int64_t size() const = 0;
  // Of the source, by a list (sources/left_out_images.h).
  virtual int64_t left_out() const { return 0; }
  // Files that were found and are no images of it.
  virtual UnusedFiles unused() const { return {}; }
  // The shape of all images where the format has one for all.
  virtual std::optional<ImageShape> common_shape() const = 0;

  // Set where the images are tensors (tensor_samples.h is for these); Decode
  // makes a picture of one then, for people.
  virtual std::optional<StoredFormat> tensors() const { return std::nullopt; }

  // The file and entry of an image, for messages.
  virtual std::string NameOf(int64_t index) const = 0;
  // Without reading the image. kNoLabel: there are none; else all have one,
  // which is not negative.
  virtual int64_t LabelOf(int64_t index) const = 0;
  // Of the labels from 0 on, where the source has names; else empty.
  virtual const std::vector<std::string>& class_names() const = 0;
  // Why labels that were found are not used, so that there are none; else "".
  virtual std::string unused_labels() const { return ""; }

  // The bytes of an image as they are stored: waits for disks and networks, and
  // computes nothing. "" where all is in memory.
  //   DATA_LOSS  the file ends before, or is damaged.
  virtual absl::StatusOr<std::string> Fetch(int64_t index) const = 0;
  // The first of them, at most `most`; nullopt: these cost about as much as
  // Fetch, or all is in memory.
  virtual absl::StatusOr<std::optional<std::string>> FetchStart(
      int64_t /*index*/, int64_t /*most*/) const {
    return std::nullopt;
  }
  // Makes an image of `stored` = Fetch(index): computes, and waits for nothing.
  //   DATA_LOSS         this image cannot be decoded.
  //   INVALID_ARGUMENT  it is of a kind that is not read.
  virtual absl::StatusOr<DecodedImage> Decode(
      int64_t index, absl::string_view stored) const = 0;
  // The same as ImageReading::kPlain (formats/image_decoder.h), where the
  // format knows a difference.
  virtual absl::StatusOr<DecodedImage> DecodePlain(
      int64_t index, absl::string_view stored) const {
    return Decode(index, stored);
  }
  // Fetch and Decode.
  absl::StatusOr<DecodedImage> Read(int64_t index) const {
    GANDEM_ASSIGN_OR_RETURN(const std::string stored, Fetch(index));
    return Decode(index, stored);
  }

  // Of all images as they are stored, about; 0: all is in memory.
  virtual int64_t stored_bytes() const { return 0; }
  // Whether more is read than an image, and kept, to read one: row groups.
  virtual bool reads_whole_units() const { return false; }
  // The first image of each unit of images that lie together (a shard, a row
  // group): from 0 on, rising.
  virtual std::vector<int64_t> Units() const { return {0}; }
  // What an image is called within the source, wherever that lies: what lists
  // of images name.
  virtual std::string KeyOf(int64_t index) const {
    return absl::StrCat("image ", index);
  }

  // SHA-256 in hex of the stored bytes. Reads all of them.
  virtual absl::StatusOr<std::string> ContentHash() const = 0;
  // SHA-256 in hex that tells two datasets apart without reading all: of
  // names, sizes, labels and of the contents of up to kFingerprintImages
  // images, evenly spread. Where everything is in memory, ContentHash.
  virtual absl::StatusOr<std::string> Fingerprint() const = 0;
};

inline constexpr int64_t kFingerprintImages = 64;

// A status of unreadable.h with what to do about it; others stay.
inline absl::Status WithAdvice(const absl::Status& status,
                               absl::string_view advice) {
  if (!IsUnreadable(status) || advice.empty()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), "; ", advice));
}

// One more than the largest label; 0: there are no labels.
inline int64_t NumClasses(const ImageStore& source) {
  if (source.LabelOf(0) == kNoLabel) return 0;
  int64_t classes = 0;
  for (int64_t i = 0; i < source.size(); ++i) {
    classes = std::max(classes, source.LabelOf(i) + 1);
  }
  return classes;
}

}  // namespace gandem
