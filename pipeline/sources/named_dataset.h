// SPDX-License-Identifier: Apache-2.0
//
// Resolves the dataset that a user names on the command line:
//
//   a folder of IDX files  train-images-idx3-ubyte and train-labels-idx1-ubyte,
//                          plain or with .gz; fitted to 32 x 32
//   a recipe               its `data` section
//
// Files named t10k- instead of train- hold test images.
//
// Thread safety: pure functions, except for looking at files.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"

namespace gandem {

struct NamedDataset {
  DataConfig data;
  std::string test_images = {};  // IDX files; empty: none
  std::string test_labels = {};
};

//   NOT_FOUND         the file or folder does not exist.
//   INVALID_ARGUMENT  a folder without IDX files, or an error of LoadRunConfig.
absl::StatusOr<NamedDataset> FindDataset(const std::string& name);

}  // namespace gandem
