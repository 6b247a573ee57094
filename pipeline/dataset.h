// SPDX-License-Identifier: Apache-2.0
//
// Real images by index. Sources (sources/) implement it, transforms
// (transforms.h) wrap another Dataset; data_order.h decides which index comes
// when, prefetcher.h reads ahead:
//
//   auto images = *OpenSource(SourceUse::kTrain, {.path = images_path});
//   auto padded = *PadTo(std::move(images), 32);
//   std::vector<float> pixels(padded->shape().NumValues());
//   absl::StatusOr<int64_t> label = padded->Read(7, pixels);
//
// Owner: whoever holds it; a transform owns what it wraps.
// Thread safety: immutable after construction; Read from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "common/image_shape.h"

namespace gandem {

inline constexpr int64_t kNoLabel = -1;

// What a source is opened from.
struct SourceSpec {
  std::string path;
  // The rest is for sources that a run trains on.
  std::string labels_path = {};  // empty: no labels
  int64_t max_images = 0;        // 0: all, else the first at most that many
  int64_t num_classes = 0;       // that labels are of; 0: any label
};

class Dataset {
 public:
  virtual ~Dataset() = default;

  // Images; at least 1.
  virtual int64_t size() const = 0;
  virtual ImageShape shape() const = 0;

  // Writes image `index` of [0, size()) to `out`, which has
  // shape().NumValues() elements: CHW, values in [-1, 1]. Returns its label, or
  // kNoLabel.
  //   DATA_LOSS         this image cannot be read or decoded.
  //   INVALID_ARGUMENT  it is not as the others are.
  virtual absl::StatusOr<int64_t> Read(int64_t index,
                                       std::span<float> out) const = 0;

  // SHA-256 in hex of what the images are made of: the files as they are
  // stored, before any transform. Reads all of them.
  virtual absl::StatusOr<std::string> ContentHash() const = 0;
};

}  // namespace gandem
