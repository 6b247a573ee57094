// SPDX-License-Identifier: Apache-2.0
//
// Selects the images of a tree to train on.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pipeline/trees/file_tree.h"

namespace gandem {

// Keeps only the images in train folders if all images are in folders named
// after splits (train, val, test; splits.h), in any case. `images` are
// increasing indices in tree.files(), at least one. Returns a suffix for the
// description of the tree; "": all images are kept.
//   INVALID_ARGUMENT  there are splits but no train.
absl::StatusOr<std::string> KeepTrainSplit(const FileTree& tree,
                                           std::vector<int64_t>& images);

// Keeps one image of each sample with several images, such as WebDataset's
// 7.jpg and 7.mask.png: the one whose name after the first dot is `member`
// ("mask.png"). If `member` is empty and TreeInfo::has_samples, keeps the one
// without another dot. Members that are numbered (video.0001.png) or numerous
// are images of their own. Returns a suffix as KeepTrainSplit does.
//   INVALID_ARGUMENT  no image has this `member`; or it is empty, and most
//                     samples have several candidates.
absl::StatusOr<std::string> KeepMember(const FileTree& tree,
                                       absl::string_view member,
                                       std::vector<int64_t>& images);

}  // namespace gandem
