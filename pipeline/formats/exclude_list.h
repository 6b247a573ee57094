// SPDX-License-Identifier: Apache-2.0
//
// Lists of images that are left out of a source: a text file with the name of
// an image (ImageStore::KeyOf) in each line. A line that begins with # is a
// comment, an empty one nothing. A name that could be taken for something else
// (a control character, a quote or # in front, a space at an end, a backslash)
// stands in double quotes, escaped as in C.
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
  std::string reason;  // a comment above it
};

// The images are in the order of their names: the same images make the same
// text.
std::string FormatExcludeList(std::vector<ExcludedImage> images);

// The names in their order, each once.
//   INVALID_ARGUMENT  quotes that are not closed, or an escape that is none;
//                     says in which line.
absl::StatusOr<std::vector<std::string>> ParseExcludeList(
    absl::string_view text);

}  // namespace gandem
