// SPDX-License-Identifier: Apache-2.0
//
// Recognition of Parquet locations, without a look into the files.
//
// Thread safety: any thread.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "pipeline/trees/location.h"

namespace gandem {

inline constexpr absl::string_view kParquetEnding = ".parquet";

// A file or URL by its name or first bytes, shards by their names, a folder by
// its files.
bool LooksLikeParquet(const Location& at);

// The folder or its folder data/, whichever has such files first; "": neither
// has, or `at` is no folder.
std::string ParquetFolder(const Location& at);

// Names of the files of images in `folder`, in order.
std::vector<std::string> ParquetNamesIn(const std::string& folder);

}  // namespace gandem
