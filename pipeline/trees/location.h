// SPDX-License-Identifier: Apache-2.0
//
// Location of a source of images: a path or a URL as the user named it, looked
// at once. Each kind of source uses it to tell whether the source is of this
// kind (sources/source_kind.h), and to open it.
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
  std::string path = {};  // as it was named
  // Text whose end tells the kind of a file: a URL without query and fragment.
  std::string name = {};
  // The files that a range in braces stands for, name-{000000..000009}.tar;
  // otherwise the path alone.
  std::vector<std::string> files = {};
  bool is_url = false;
  bool is_folder = false;  // of this machine, or a URL that ends in '/'
  // The first bytes of its first file, kStartBytes at most; "" of a folder.
  std::string start = {};

  // Whether the name ends so, in upper or lower case.
  bool HasEnding(absl::string_view ending) const;
  // The path for messages, without what may be a signature.
  std::string Shown() const;
};

inline constexpr int64_t kStartBytes = 512;  // size of a tar header

// Looks at `path`, and reads the start of its first file.
//   NOT_FOUND         there is no such file or folder.
//   INVALID_ARGUMENT  a pipe or a device; a range in braces that is none.
//   those of reading the file.
absl::StatusOr<Location> Locate(const std::string& path);

// The files that a name with a range in braces stands for, whether they are
// there or not; `path` alone if it has none.
//   INVALID_ARGUMENT  a range that is none, or of more than a million.
absl::StatusOr<std::vector<std::string>> ExpandShards(const std::string& path);

// The names in a folder, not below it, that are not hidden and that `wanted`
// wants, sorted; none where it cannot be listed.
std::vector<std::string> NamesIn(
    const std::string& folder,
    absl::FunctionRef<bool(absl::string_view name)> wanted);

}  // namespace gandem
