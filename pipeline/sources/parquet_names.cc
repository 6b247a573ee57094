// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/parquet_names.h"

#include "absl/strings/match.h"

namespace gandem {
namespace {

// The hub's name for a table about adjacent images.
constexpr absl::string_view kMetadataName = "metadata.parquet";

}  // namespace

std::vector<std::string> ParquetNamesIn(const std::string& folder) {
  return NamesIn(folder, [](absl::string_view name) {
    return absl::EndsWithIgnoreCase(name, kParquetEnding) &&
           name != kMetadataName;
  });
}

std::string ParquetFolder(const Location& at) {
  if (!at.is_folder || at.is_url) return "";
  for (const std::string& folder : {at.path, at.path + "/data"}) {
    if (!ParquetNamesIn(folder).empty()) return folder;
  }
  return "";
}

bool LooksLikeParquet(const Location& at) {
  if (at.is_folder) return !ParquetFolder(at).empty();
  return at.HasEnding(kParquetEnding) || absl::StartsWith(at.start, "PAR1");
}

}  // namespace gandem
