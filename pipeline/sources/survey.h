// SPDX-License-Identifier: Apache-2.0
//
// Properties of the images of a source that can only be found by reading all of
// them.
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
  std::string reason;  // with its name
  // Whether the stored bytes are at fault (IsUnreadable), not a disk or a
  // network.
  bool is_content = true;
};

struct Survey {
  int64_t num_images = 0;                        // that were read, or tried
  std::map<std::string, int64_t> kinds = {};     // "JPEG, RGB": how many
  std::map<std::string, int64_t> sizes = {};     // "32 x 32": how many
  std::vector<UnreadableImage> unreadable = {};  // in their order
};

// Reads `images`, in any order. `progress` gets the number of images done, now
// and then and at the end; from one thread at a time.
Survey SurveyImages(const ImageStore& store, const std::vector<int64_t>& images,
                    int num_threads,
                    const std::function<void(int64_t done)>& progress);

// "b (7); a (2); 3 others": the largest first.
std::string CountsText(std::vector<std::pair<std::string, int64_t>> counts);

// "not used: .txt (3)"; empty where there are none.
std::string UnusedText(const UnusedFiles& unused);

}  // namespace gandem
