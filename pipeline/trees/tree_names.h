// SPDX-License-Identifier: Apache-2.0
//
// Splits names of files in a tree into parts.
//
// Thread safety: pure functions; results are views of their arguments.
#pragma once

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace gandem {

// Returns the name up to and including the last '/'.
inline absl::string_view FolderOf(absl::string_view name) {
  return name.substr(0, name.rfind('/') + 1);
}

// Returns whether a file is ignored: it or a parent folder begins with a dot,
// or macOS added it to a zip.
inline bool IsHiddenName(absl::string_view name) {
  return absl::StartsWith(name, ".") || absl::StrContains(name, "/.") ||
         absl::StartsWith(name, "__MACOSX/");
}

// Returns WebDataset's sample key: the path up to the first dot of the file
// name. "a/7.mask.png" belongs to the sample "a/7".
inline absl::string_view SampleOf(absl::string_view name) {
  return name.substr(0, name.find('.', FolderOf(name).size()));
}

// Returns the part after the sample key and dot: "mask.png".
inline absl::string_view MemberOf(absl::string_view name) {
  return name.substr(std::min(SampleOf(name).size() + 1, name.size()));
}

}  // namespace gandem
