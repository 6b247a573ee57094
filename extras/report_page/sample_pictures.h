// SPDX-License-Identifier: Apache-2.0
//
// The grids of generated images in RUN/samples for a page: PNG files as data:
// URIs. A limited number is chosen evenly over the rounds, always with the
// first and the last, to keep the page small.
//
// Owner: values. Thread safety: any thread.
// Errors: those of common/files/file.h. A file that is not a PNG is left out
// with a note.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace gandem {

inline constexpr int64_t kMaxPictures = 24;
inline constexpr int64_t kMaxPictureBytes = int64_t{24} << 20;  // total

struct SamplePicture {
  int64_t round = 0;
  std::string data_uri = {};
};

struct SamplePictures {
  std::vector<SamplePicture> pictures = {};  // sorted by round
  std::vector<std::string> notes = {};       // omissions, for the user
};

// `count` evenly spaced numbers in [0, size), with both ends if count > 1.
std::vector<int64_t> EvenlyOf(int64_t size, int64_t count);

// Reads `folder`/round-N.png. Empty if the folder does not exist.
absl::StatusOr<SamplePictures> ReadSamplePictures(const std::string& folder);

}  // namespace gandem
