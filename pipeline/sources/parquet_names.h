// SPDX-License-Identifier: Apache-2.0
//
// Recognizes Parquet sources without reading their files.
//
// Thread safety: any thread.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "pipeline/trees/location.h"

namespace gandem {

inline constexpr absl::string_view kParquetEnding = ".parquet";

// Recognizes files by name or first bytes, shards by name, folders by files.
bool LooksLikeParquet(const Location& at);

// Returns the folder or its subfolder data/ if it has Parquet files, or "".
std::string ParquetFolder(const Location& at);

// Lists the image files in `folder`, in order.
std::vector<std::string> ParquetNamesIn(const std::string& folder);

}  // namespace gandem
