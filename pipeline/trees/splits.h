// SPDX-License-Identifier: Apache-2.0
//
// Dataset splits: folders or files named train, test and so on.
//
// Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace gandem {

// Split used for training if there are several.
inline constexpr absl::string_view kTrainSplit = "train";
inline constexpr absl::string_view kSplitNames[] = {
    kTrainSplit, "test", "validation", "valid", "val", "dev", "eval"};

inline bool IsSplitName(absl::string_view name) {
  return std::ranges::find(kSplitNames, name) != std::end(kSplitNames);
}

inline std::string SplitText(absl::string_view split,
                             const std::vector<std::string>& others) {
  return absl::StrCat(" of the split ", split, " (there are also ",
                      absl::StrJoin(others, ", "), ")");
}

}  // namespace gandem
