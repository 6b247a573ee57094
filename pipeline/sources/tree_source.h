// SPDX-License-Identifier: Apache-2.0
//
// The images among the files of a tree, in the order of the tree, which is that
// of their names: files whose names end as those of PNG, JPEG, WebP or of
// images that cannot be read (.gif ...), and files with other names or none
// that begin as PNG, JPEG or WebP. unused() counts the others, hidden files and
// what macOS adds to zips. The first of these that is there says the labels:
//
//   dataset.json      StyleGAN's, in the folder of all images
//   labels.csv        NAME,LABEL, there too
//   a/0001.cls        WebDataset's: the number beside a/0001.jpg
//   cat/1.jpg         sub-folders, if all images are in two or more: a class
//                     each, in the order of their names
//
// Thread safety: pure functions, but for reading files.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "pipeline/image_store.h"
#include "pipeline/trees/file_tree.h"

namespace gandem {

//   INVALID_ARGUMENT  no images; labels that are no numbers, or not one for
//   each
//                     image.
absl::StatusOr<std::unique_ptr<ImageStore>> OpenTreeImages(
    std::unique_ptr<FileTree> tree);

}  // namespace gandem
