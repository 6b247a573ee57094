// SPDX-License-Identifier: Apache-2.0
//
// Collects properties of a source's images by reading all of them.
//
// Owner: values. Thread safety: pure functions; several threads read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/image_store.h"

namespace gandem {

struct UnreadableImage {
  int64_t index = 0;
  std::string reason;  // includes the image's name
  // Whether the stored bytes are at fault (IsUnreadable), not I/O.
  bool is_content = true;
};

struct Survey {
  int64_t num_images = 0;                        // read or tried
  std::map<std::string, int64_t> kinds = {};     // "JPEG, RGB" to count
  std::map<std::string, int64_t> sizes = {};     // "32 x 32" to count
  std::vector<UnreadableImage> unreadable = {};  // in index order
};

// Reads `images` in any order. Calls `progress` with the number of finished
// images from time to time and at the end, from one thread at a time.
Survey SurveyImages(const ImageStore& store, const std::vector<int64_t>& images,
                    int num_threads,
                    const std::function<void(int64_t done)>& progress);

// Formats counts, largest first: "b (7); a (2); 3 others".
std::string CountsText(std::vector<std::pair<std::string, int64_t>> counts);

// Formats "not used: .txt (3)"; "" if there are none.
std::string UnusedText(const UnusedFiles& unused);

}  // namespace gandem
