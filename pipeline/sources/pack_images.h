// SPDX-License-Identifier: Apache-2.0
//
// Writes the images of any source into tar shards with an index
// (pipeline/formats/tar_index.h), as WebDataset and we read them:
//
//   shard-000000.tar   000000000.jpg, 000000000.cls, 000000001.png ...
//   pack.json          of what it is made, and whether it is complete
//
// Names are the places of the images. The bytes depend on the source and the
// options alone, not on threads or interruptions.
//
// Thread safety: pure functions, except for files; several threads read images.
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
  std::string folder;                      // created if it is not there
  int64_t shard_bytes = int64_t{1} << 28;  // of images, one at least in each
  // Height and width that images get, as PNG, with Pillow's bicubic kernel; 0:
  // they are copied as they are stored.
  int64_t resize = 0;
  bool crop = true;  // resize: the largest square in the middle, else all
  int num_threads = 1;
};

struct PackedImages {
  int64_t images = 0;
  int64_t shards = 0;
  int64_t kept_shards = 0;  // shards that were there already
};

// Shards that are there, of the same source and options, stay; the first other
// one and all behind it are written.
// `progress` gets how many images are done; what it returns, if it is not
// OK, ends the work.
//   FAILED_PRECONDITION  the folder holds something else; the source tensors.
//   DATA_LOSS ...        an image cannot be read; names it.
//   RESOURCE_EXHAUSTED   the disk is full.
absl::StatusOr<PackedImages> PackImages(
    const ImageStore& source, const PackOptions& options,
    const std::function<absl::Status(int64_t done)>& progress);

// pack.json: what a folder of packed shards is made of.
//
//   {"format": "gandem pack 1", "settings": "...", "images": 60000, "shards":
//   3}
struct PackRecord {
  // Source and options: equal texts are equal packs.
  std::string settings;
  int64_t images = 0;
  int64_t shards = 0;  // 0: they are not complete

  bool operator==(const PackRecord&) const = default;
};

std::string FormatPackRecord(const PackRecord& record);

// nullopt: it is no such text, or has numbers that are none.
std::optional<PackRecord> ParsePackRecord(absl::string_view text);

// Whether PackImages wrote a pack.json there.
bool IsPackedFolder(const std::string& path);

// The shards of such a folder, as OpenTarTree takes them.
//   FAILED_PRECONDITION  it is not complete.
//   DATA_LOSS            its pack.json is damaged.
absl::StatusOr<std::string> ShardsOfFolder(const std::string& path);

}  // namespace gandem
