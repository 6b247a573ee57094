// SPDX-License-Identifier: Apache-2.0
#include "extras/parquet/parquet_files.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/status.h"
#include "pipeline/sources/parquet_names.h"
#include "pipeline/trees/splits.h"

namespace gandem {
namespace {

struct NumberedName {
  std::string split;   // "train"
  int64_t number = 0;  // 3 in "-00003"
  int64_t of = 0;      // 5 in "-of-00005"
};

// train-00003-of-00005.parquet
std::optional<NumberedName> ParseNumbered(absl::string_view name) {
  const absl::string_view stem =
      name.substr(0, name.size() - kParquetEnding.size());
  const size_t of = stem.rfind("-of-");
  if (of == absl::string_view::npos || of == 0) return std::nullopt;
  const size_t dash = stem.rfind('-', of - 1);
  if (dash == absl::string_view::npos) return std::nullopt;
  const absl::string_view digits = stem.substr(dash + 1, of - dash - 1);
  NumberedName parsed = {.split = std::string(stem.substr(0, dash))};
  if (!std::ranges::all_of(digits, absl::ascii_isdigit) ||
      !absl::SimpleAtoi(digits, &parsed.number) ||
      !absl::SimpleAtoi(stem.substr(of + 4), &parsed.of)) {
    return std::nullopt;
  }
  return parsed;
}

// Files by split, sorted by name. Files whose names contain no split are under
// "".
std::map<std::string, std::vector<std::string>> BySplit(
    const std::vector<std::string>& names) {
  std::map<std::string, std::vector<std::string>> splits;
  for (const std::string& name : names) {
    const std::string stem =
        name.substr(0, name.size() - kParquetEnding.size());
    if (const auto numbered = ParseNumbered(name)) {
      splits[numbered->split].push_back(name);
    } else if (IsSplitName(stem)) {
      splits[stem].push_back(name);
    } else {
      splits[""].push_back(name);
    }
  }
  return splits;
}

absl::Status CheckComplete(const std::string& folder,
                           const std::vector<std::string>& names) {
  for (int64_t i = 0; i < std::ssize(names); ++i) {
    const auto numbered = ParseNumbered(names[i]);
    if (!numbered.has_value()) continue;
    const bool is_last = i + 1 == std::ssize(names);
    if (numbered->number == i && (!is_last || numbered->of == i + 1)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("'", folder, "' has ", names.size(), " of the ",
                     numbered->of, " shards of '", names[i],
                     "': get the others, or name the files to use, as in "
                     "name-{00000..00004}-of-00005.parquet"));
  }
  return absl::OkStatus();
}

absl::StatusOr<ParquetFiles> FindInFolder(const std::string& folder) {
  auto splits = BySplit(ParquetNamesIn(folder));
  auto chosen = splits.find(std::string(kTrainSplit));
  if (chosen == splits.end()) chosen = splits.begin();
  if (splits.size() > 1 && chosen->first != kTrainSplit) {
    const auto name_of = [](std::string* out, const auto& split) {
      absl::StrAppend(out, split.second.front());
    };
    return absl::InvalidArgumentError(absl::StrCat(
        "'", folder, "' has several sets of Parquet files, and none is called ",
        kTrainSplit, " (", absl::StrJoin(splits, ", ", name_of),
        "): name the files of one, as in "
        "name-{00000..00004}-of-00005.parquet"));
  }
  GANDEM_RETURN_IF_ERROR(CheckComplete(folder, chosen->second));
  ParquetFiles files;
  for (const std::string& name : chosen->second) {
    files.paths.push_back(absl::StrCat(folder, "/", name));
  }
  if (splits.size() > 1) files.split = chosen->first;
  for (const auto& [split, names] : splits) {
    if (split == chosen->first) continue;
    files.other_splits.push_back(split.empty() ? names.front() : split);
  }
  return files;
}

}  // namespace

absl::StatusOr<ParquetFiles> FindParquetFiles(const Location& at) {
  const std::string folder = ParquetFolder(at);
  if (!folder.empty()) return FindInFolder(folder);
  return ParquetFiles{.paths = at.files};
}

}  // namespace gandem
