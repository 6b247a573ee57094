// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/parquet_names.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "pipeline/remote/open_file.h"
#include "pipeline/remote/url.h"
#include "pipeline/trees/file_tree.h"
#include "pipeline/trees/folder_listings.h"

namespace gandem {
namespace {

// What the hub calls a table about images that lie beside it.
constexpr absl::string_view kMetadataName = "metadata.parquet";

bool HasParquetName(absl::string_view name) {
  return absl::EndsWithIgnoreCase(name, kParquetEnding);
}

bool IsFolderPath(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

}  // namespace

std::vector<std::string> ParquetNamesIn(const std::string& folder) {
  return NamesIn(folder, [](absl::string_view name) {
    return HasParquetName(name) && name != kMetadataName;
  });
}

std::string ParquetFolder(const std::string& path) {
  if (!IsFolderPath(path)) return "";
  for (const std::string& folder : {path, path + "/data"}) {
    if (!ParquetNamesIn(folder).empty()) return folder;
  }
  return "";
}

bool LooksLikeParquet(const std::string& path) {
  if (IsFolderPath(path)) return !ParquetFolder(path).empty();
  if (HasParquetName(NamePart(path))) return true;
  const auto magic = ReadFileStart(path, 4);
  return magic.ok() && *magic == "PAR1";
}

}  // namespace gandem
