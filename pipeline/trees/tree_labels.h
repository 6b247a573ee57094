// SPDX-License-Identifier: Apache-2.0
//
// Finds the labels of the images of a tree, in the first of these places:
//
//   dataset.json      StyleGAN's, at the top or in the images' common folder
//   labels.csv        lines NAME,LABEL, there too
//   metadata.jsonl, metadata.csv
//                     Hugging Face's imagefolder with a field label, there too
//   a/0001.cls        WebDataset's: a number, for a/0001.jpg
//   a/0001.json       WebDataset's, with a field label, for a/0001.jpg
//   cat/1.jpg         subfolders, if there are at least two: one class each,
//                     sorted by name
//
// Label files in one of several archives apply only to that archive.
//
// Thread safety: pure functions, except for reading files.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/trees/file_tree.h"

namespace gandem {

// `images` are increasing indices in tree.files(), at least one; labels are in
// the same order. Invalid or incomplete labels are not an error:
// TreeLabels::unused gives the reason. Errors of reading files.
absl::StatusOr<TreeLabels> FindTreeLabels(const FileTree& tree,
                                          const std::vector<int64_t>& images);

// Returns the longest folder, with a trailing '/', that contains all `images`.
std::string CommonFolder(const FileTree& tree,
                         const std::vector<int64_t>& images);

}  // namespace gandem
