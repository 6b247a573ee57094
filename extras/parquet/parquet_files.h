// SPDX-License-Identifier: Apache-2.0
//
// Parquet files that a path stands for:
//
//   train.parquet                          a file, whatever it is called
//   train-{00000..00004}-of-00005.parquet  several
//   folder/                                those in it, or in its folder data/,
//                                          as repositories of the Hugging Face
//                                          hub have them
//
// If a folder has several splits (NAME-00000-of-00005.parquet, or train.parquet
// and test.parquet), the one called train is used.
//
// Thread safety: pure functions, except for looking at files.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/trees/location.h"

namespace gandem {

struct ParquetFiles {
  std::vector<std::string> paths = {};  // at least one, in their order
  std::string split = {};               // "": there is one only
  std::vector<std::string> other_splits = {};
};

// `at`: what LooksLikeParquet (pipeline/sources/parquet_names.h) accepts.
//   INVALID_ARGUMENT  a shard is missing; several splits, and none is train.
absl::StatusOr<ParquetFiles> FindParquetFiles(const Location& at);

}  // namespace gandem
