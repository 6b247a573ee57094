// SPDX-License-Identifier: Apache-2.0
//
// Parts of the names of files in a tree.
//
// Thread safety: pure functions; results are parts of their arguments.
#pragma once

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace gandem {

// Up to the last '/', which belongs to it.
inline absl::string_view FolderOf(absl::string_view name) {
  return name.substr(0, name.rfind('/') + 1);
}

// Whether a file does not count: its name, or that of a folder, begins with a
// point, or macOS has added it to a zip.
inline bool IsHiddenName(absl::string_view name) {
  return absl::StartsWith(name, ".") || absl::StrContains(name, "/.") ||
         absl::StartsWith(name, "__MACOSX/");
}

// WebDataset's key of a sample: the path up to the first point of the file's
// name. "a/7.mask.png" is of the sample "a/7".
inline absl::string_view SampleOf(absl::string_view name) {
  return name.substr(0, name.find('.', FolderOf(name).size()));
}

// The part of a name after that point: "mask.png".
inline absl::string_view MemberOf(absl::string_view name) {
  return name.substr(std::min(SampleOf(name).size() + 1, name.size()));
}

}  // namespace gandem
