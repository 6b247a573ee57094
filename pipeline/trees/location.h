// SPDX-License-Identifier: Apache-2.0
//
// Location of a source of images: a path or URL and what a first look shows,
// for recognizing (sources/source_kind.h) and opening a source.
//
// Owner: values. Thread safety: pure functions, except for looking at files.
#pragma once

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

struct Location {
  std::string path = {};  // as named by the user
  // Text whose ending tells the file type: without query and fragment.
  std::string name = {};
  // Files of a brace range, name-{000000..000009}.tar; otherwise only the path.
  std::vector<std::string> files = {};
  bool is_url = false;
  bool is_folder = false;  // a local folder, or a URL that ends in '/'
  // Up to kStartBytes leading bytes of the first file; "" for folders.
  std::string start = {};

  // Returns whether the name has this ending, in any case.
  bool HasEnding(absl::string_view ending) const;
  // Returns the path for messages, without a possible signature.
  std::string Shown() const;
};

inline constexpr int64_t kStartBytes = 512;  // size of a tar header

// Inspects `path` and reads the start of its first file. Errors of reading, and
//   NOT_FOUND         the file or folder does not exist.
//   INVALID_ARGUMENT  a pipe or device, or an invalid brace range.
absl::StatusOr<Location> Locate(const std::string& path);

// Expands a brace range in a name, without checking the files.
//   INVALID_ARGUMENT  an invalid range, or one of more than a million files.
absl::StatusOr<std::vector<std::string>> ExpandShards(const std::string& path);

// Returns the sorted names of direct, visible entries that `wanted` accepts;
// empty if the folder cannot be listed.
std::vector<std::string> NamesIn(
    const std::string& folder,
    absl::FunctionRef<bool(absl::string_view name)> wanted);

}  // namespace gandem
