// SPDX-License-Identifier: Apache-2.0
//
// Packs the images of any source into WebDataset tar shards with an index
// (pipeline/formats/tar_index.h):
//
//   shard-000000.tar   000000000.jpg, 000000000.cls, 000000001.png ...
//   pack.json          source, options and completeness
//
// Files are named by image index. The bytes depend only on the source and the
// options, not on threads or interruptions.
//
// Thread safety: pure functions, except for files. Reads in several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pipeline/image_store.h"

namespace gandem {

struct PackOptions {
  std::string folder;                      // created if missing
  int64_t shard_bytes = int64_t{1} << 28;  // of images; at least one image
  // Height and width of the images, resized with Pillow's bicubic kernel and
  // stored as PNG; 0: stored files are copied unchanged.
  int64_t resize = 0;
  bool crop = true;  // when resizing: central square instead of all
  int num_threads = 1;
};

struct PackedImages {
  int64_t images = 0;
  int64_t shards = 0;
  int64_t kept_shards = 0;  // reused shards
};

// Keeps existing shards of the same source and options; writes the first
// missing or different shard and all later ones. `progress` gets the number of
// finished images; if it returns an error, packing stops.
//   FAILED_PRECONDITION  the folder has other contents, or the source has
//                        tensors.
//   DATA_LOSS ...        an image cannot be read; names it.
//   RESOURCE_EXHAUSTED   the disk is full.
absl::StatusOr<PackedImages> PackImages(
    const ImageStore& source, const PackOptions& options,
    const std::function<absl::Status(int64_t done)>& progress);

// Content of pack.json:
//
//   {"format": "gandem pack 1", "settings": "...", "images": 60000, "shards":
//   3}
struct PackRecord {
  // Source and options. Equal texts mean equal shards.
  std::string settings;
  int64_t images = 0;
  int64_t shards = 0;  // 0: incomplete

  bool operator==(const PackRecord&) const = default;
};

std::string FormatPackRecord(const PackRecord& record);

// Returns nullopt if the text is invalid.
std::optional<PackRecord> ParsePackRecord(absl::string_view text);

// Returns whether the folder has a pack.json written by PackImages.
bool IsPackedFolder(const std::string& path);

// Returns the shards of a packed folder in OpenTarTree's notation.
//   FAILED_PRECONDITION  packing is incomplete.
//   DATA_LOSS            pack.json is damaged.
absl::StatusOr<std::string> ShardsOfFolder(const std::string& path);

}  // namespace gandem
