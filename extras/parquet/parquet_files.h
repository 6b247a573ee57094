// SPDX-License-Identifier: Apache-2.0
//
// Finds the Parquet files that a path stands for:
//
//   train.parquet                          one file with any name
//   train-{00000..00004}-of-00005.parquet  several files
//   folder/                                the files in it or in its folder
//                                          data/ (repositories of the Hugging
//                                          Face hub)
//
// If a folder has several splits (NAME-00000-of-00005.parquet, or train.parquet
// and test.parquet), the one called train is used.
//
// Thread safety: pure functions, except for reading the file system.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/trees/location.h"

namespace gandem {

struct ParquetFiles {
  std::vector<std::string> paths = {};  // at least one, sorted
  std::string split = {};               // "" if there is only one
  std::vector<std::string> other_splits = {};
};

// `at`: a location that LooksLikeParquet (parquet_names.h) accepts.
//   INVALID_ARGUMENT  a shard is missing; there are several splits, but no
//                     train.
absl::StatusOr<ParquetFiles> FindParquetFiles(const Location& at);

}  // namespace gandem
