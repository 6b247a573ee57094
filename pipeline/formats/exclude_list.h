// SPDX-License-Identifier: Apache-2.0
//
// Lists of images to leave out of a source: a text file with one image name
// (ImageStore::KeyOf) per line. Lines that begin with # are comments; empty
// lines are ignored. Ambiguous names (control characters, a leading quote or #,
// a space at an end, a backslash) are double-quoted and escaped as in C.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

struct ExcludedImage {
  std::string key;
  std::string reason;  // the comment above it
};

// Writes the images sorted by name.
std::string FormatExcludeList(std::vector<ExcludedImage> images);

// Returns the names in the order of the list, without duplicates.
//   INVALID_ARGUMENT  unclosed quotes or an invalid escape; names the line.
absl::StatusOr<std::vector<std::string>> ParseExcludeList(
    absl::string_view text);

}  // namespace gandem
