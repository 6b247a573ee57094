// SPDX-License-Identifier: Apache-2.0
//
// The dataset that a user names on the command line:
//
//   a folder of IDX files  train-images-idx3-ubyte and train-labels-idx1-ubyte,
//                          plain or with .gz; fitted to 32 x 32 as a recipe
//                          does by default
//   a recipe               what its section `data` says
//
// Files that are called t10k- where those of the dataset are called train- hold
// images to test on.
//
// Thread safety: pure functions, except for looking at files.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"

namespace gandem {

struct NamedDataset {
  DataConfig data;
  std::string test_images = {};  // IDX files; empty: there are none
  std::string test_labels = {};
};

//   NOT_FOUND         there is no such file or folder.
//   INVALID_ARGUMENT  the folder has no IDX files, or what LoadRunConfig says
//                     about the recipe.
absl::StatusOr<NamedDataset> FindDataset(const std::string& name);

}  // namespace gandem
