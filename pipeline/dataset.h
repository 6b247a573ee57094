// SPDX-License-Identifier: Apache-2.0
//
// Real images by index, all of one shape, as networks see them: a fitted
// ImageStore (image_store.h, fitted_images.h) or pairs of two stores
// (transforms.h). data_order.h orders the images and prefetcher.h reads ahead:
//
//   auto source = *OpenSource(path);
//   auto images = *FittedImages::Create(std::move(source), {.size = 32});
//   std::vector<float> pixels(images->shape().NumValues());
//   absl::StatusOr<int64_t> label = images->Read(7, pixels);
//
// Owner: the holder; a transform owns what it wraps.
// Thread safety: immutable after construction; Read from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/image_shape.h"
#include "common/status.h"
#include "pipeline/data_order.h"

namespace gandem {

inline constexpr int64_t kNoLabel = -1;
inline constexpr int64_t kMaxLabel = (1 << 20) - 1;

// Key of the random values drawn for one use of an image (crop position,
// mirroring). The values are a function of the run's seed and the number of the
// sample in the run (design.md section 5).
struct SampleKey {
  uint64_t seed = 0;
  int64_t number = 0;  // >= 0
};

// Stored form of a sample. Empty if all data are in memory.
struct StoredSample {
  std::string image = {};
  std::string input = {};  // for pairs: the image to translate
};

struct StoredView {
  StoredView() = default;
  StoredView(absl::string_view of_image, absl::string_view of_input)
      : image(of_image), input(of_input) {}
  StoredView(const StoredSample& stored)  // NOLINT: as std::string's
      : StoredView(stored.image, stored.input) {}

  int64_t bytes() const {
    return static_cast<int64_t>(image.size() + input.size());
  }

  absl::string_view image;
  absl::string_view input;
};

class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual int64_t size() const = 0;
  virtual ImageShape shape() const = 0;
  // Returns the name of an image for messages: the file if there is one.
  virtual std::string NameOf(int64_t index) const {
    return absl::StrCat("image ", index);
  }
  virtual ImageUnits Units() const { return {.size = size()}; }

  // Waits for disks and networks without computing. `index` is in [0, size()).
  //   DATA_LOSS  the file is shorter than expected or damaged.
  virtual absl::StatusOr<StoredSample> Fetch(int64_t /*index*/) const {
    return StoredSample();
  }

  // Computes without waiting: decodes `stored` = Fetch(index) into `out`, which
  // has shape().NumValues() elements: CHW, values in [-1, 1]. `key` selects the
  // random crop and mirroring of a training sample; without it, the image is
  // prepared for display and evaluation. Returns the label, or kNoLabel.
  //   DATA_LOSS         this image cannot be decoded.
  //   INVALID_ARGUMENT  the image does not match the others.
  virtual absl::StatusOr<int64_t> Finish(int64_t index,
                                         const StoredView& stored,
                                         std::optional<SampleKey> key,
                                         std::span<float> out) const = 0;

  absl::StatusOr<int64_t> Read(int64_t index, std::span<float> out) const {
    return FetchAndFinish(index, std::nullopt, out);
  }
  absl::StatusOr<int64_t> ReadSample(int64_t index, SampleKey key,
                                     std::span<float> out) const {
    return FetchAndFinish(index, key, out);
  }

  // Hashes all stored files, before any transform: SHA-256 in hex.
  virtual absl::StatusOr<std::string> ContentHash() const = 0;

 private:
  absl::StatusOr<int64_t> FetchAndFinish(int64_t index,
                                         std::optional<SampleKey> key,
                                         std::span<float> out) const {
    GANDEM_ASSIGN_OR_RETURN(const StoredSample stored, Fetch(index));
    return Finish(index, stored, key, out);
  }
};

}  // namespace gandem
