// SPDX-License-Identifier: Apache-2.0
//
// Finds the columns of a Parquet file that hold encoded images, labels and
// paths. The Hugging Face hub writes struct<bytes, path> and an integer, with
// the names of classes in the file's metadata. A plain binary column and a
// column of texts are also supported.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <parquet/arrow/schema.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace gandem {

struct ImageColumns {
  std::string image = {};
  // Indices of leaf columns; -1 if there is none.
  int image_leaf = -1;
  int path_leaf = -1;
  std::string label = {};
  int label_leaf = -1;
  bool label_is_text = false;
  std::string unused_labels = {};  // see OpenedShard
  std::vector<std::string> class_names = {};
};

//   INVALID_ARGUMENT  no column holds images; says which columns there are.
absl::StatusOr<ImageColumns> FindImageColumns(
    const parquet::arrow::SchemaManifest& manifest);

}  // namespace gandem
