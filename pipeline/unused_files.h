// SPDX-License-Identifier: Apache-2.0
//
// Files that a source found but does not use, such as texts beside images.
//
// Owner: values.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace gandem {

// Number of files by reason: the ending of their names (".txt") or their kind
// ("hidden", "symbolic link").
using UnusedFiles = std::map<std::string, int64_t>;

inline void AddUnused(const UnusedFiles& more, UnusedFiles& unused) {
  for (const auto& [reason, count] : more) unused[reason] += count;
}

}  // namespace gandem
