// SPDX-License-Identifier: Apache-2.0
//
// The labels of the images of a tree. The first of these that is there says
// them:
//
//   dataset.json      StyleGAN's, in the folder of all images or at the top
//   labels.csv        lines NAME,LABEL, there too
//   metadata.jsonl, metadata.csv
//                     Hugging Face's imagefolder, with a field label, there too
//   a/0001.cls        WebDataset's: a number, beside a/0001.jpg
//   a/0001.json       WebDataset's, with a field label, there too
//   cat/1.jpg         sub-folders, if all images are in two or more: a class
//                     each, in the order of their names
//
// An archive of several, such as one of a range of shards, says only the labels
// of its own images.
//
// Thread safety: pure functions, except for reading files.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/trees/file_tree.h"

namespace gandem {

// `images` are rising places in tree.files(), at least one; the labels are in
// their order. Labels that do not make sense, or that not all images have, are
// no failure: TreeLabels::unused says why. Errors of reading files.
absl::StatusOr<TreeLabels> FindTreeLabels(const FileTree& tree,
                                          const std::vector<int64_t>& images);

// The longest folder, with a '/' at its end, that has all `images`.
std::string CommonFolder(const FileTree& tree,
                         const std::vector<int64_t>& images);

}  // namespace gandem
