// SPDX-License-Identifier: Apache-2.0
//
// Choice of the images to train on, if the images of a tree are not all alike.
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

// If all images are in folders that are named as splits are (train, val, test;
// splits.h), in upper or lower case, keeps the images of train. `images` are
// rising places in tree.files(), at least one. Returns a text that follows the
// kind of the tree in its description; "": all images stay.
//   INVALID_ARGUMENT  no split is called train.
absl::StatusOr<std::string> KeepTrainSplit(const FileTree& tree,
                                           std::vector<int64_t>& images);

// Keeps one image of each sample that has several, as WebDataset's 7.jpg and
// 7.mask.png: of those whose names after the first point are `member`
// ("mask.png"), or, if it is empty and TreeInfo::has_samples, the one without a
// further point in it. Where the members are numbers, as in video.0001.png, or
// many, they are images of their own, and all stay. Returns as above.
//   INVALID_ARGUMENT  no image has this `member`; or it is empty, and most
//                     samples have several images of which none is the one.
absl::StatusOr<std::string> KeepMember(const FileTree& tree,
                                       absl::string_view member,
                                       std::vector<int64_t>& images);

}  // namespace gandem
