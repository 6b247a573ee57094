// SPDX-License-Identifier: Apache-2.0
//
// Which columns of a Parquet file hold encoded images, their labels and paths:
// as the Hugging Face hub writes them, struct<bytes, path> and an integer, with
// the names of classes in the file's metadata; or a plain binary column, and a
// text.
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
  // Numbers of leaf columns; -1: there is none.
  int image_leaf = -1;
  int path_leaf = -1;
  std::string label = {};
  int label_leaf = -1;
  bool label_is_text = false;
  std::string unused_labels = {};  // as OpenedShard's
  std::vector<std::string> class_names = {};
};

//   INVALID_ARGUMENT  no column holds images; says which columns there are.
absl::StatusOr<ImageColumns> FindImageColumns(
    const parquet::arrow::SchemaManifest& manifest);

}  // namespace gandem
