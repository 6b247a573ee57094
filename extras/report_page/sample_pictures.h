// SPDX-License-Identifier: Apache-2.0
//
// The grids of generated images in RUN/samples, as a page holds them: PNG files
// as data: URIs. Of many some are taken, evenly over the rounds, the first and
// the last always, so that the page stays below some megabytes.
//
// Owner: values. Thread safety: any thread.
// Errors: those of common/files/file.h; a file that is no PNG is left out with
// a note.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace gandem {

inline constexpr int64_t kMaxPictures = 24;
inline constexpr int64_t kMaxPictureBytes = int64_t{24} << 20;  // of all

struct SamplePicture {
  int64_t round = 0;
  std::string data_uri = {};
};

struct SamplePictures {
  std::vector<SamplePicture> pictures = {};  // by round
  std::vector<std::string> notes = {};       // what was left out, for the user
};

// `count` of 0 ... size - 1, evenly, both ends included where count > 1.
std::vector<int64_t> EvenlyOf(int64_t size, int64_t count);

// Of `folder`/round-N.png. None where there is no such folder.
absl::StatusOr<SamplePictures> ReadSamplePictures(const std::string& folder);

}  // namespace gandem
