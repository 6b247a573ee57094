// SPDX-License-Identifier: Apache-2.0
//
// Images of one shape, held in memory as bytes: IDX, CIFAR and compressed npz
// files; and of other npz files, which stay on the disk.
//
// Owner, thread safety: see image_store.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/image_store.h"

namespace gandem {

// The kind of what OpenIdx opens.
inline constexpr char kIdxKind[] = "IDX files";

struct MemoryContents {
  std::string kind = {};  // for people
  std::string path = {};  // for messages
  ImageShape shape = {};  // gray or RGB
  // One image after the other: height x width x channels.
  std::vector<uint8_t> pixels = {};
  std::vector<uint8_t> labels = {};  // empty: none; else one for each image
  std::vector<std::string> class_names = {};
  absl::string_view format = "";  // a constant: "IDX"
  // What ContentHash is of; empty: of pixels and labels.
  std::string file = {};
};

std::unique_ptr<ImageStore> ImagesInMemory(MemoryContents contents);

// Images of an IDX file, gray, plain or gzip-compressed. `labels_path` empty:
// no labels. Errors of ReadIdx, and
//   INVALID_ARGUMENT  the number of labels is not that of images.
absl::StatusOr<std::unique_ptr<ImageStore>> OpenIdx(
    const std::string& images_path, const std::string& labels_path);

// The same with the labels that stand beside the images: labels-idx1 where the
// name has images-idx3. `path` may be a folder with train-images-idx3-ubyte.
absl::StatusOr<std::unique_ptr<ImageStore>> OpenIdxByName(
    const std::string& path);

// Whether OpenIdxByName finds images there.
bool LooksLikeIdx(const std::string& path);

// Images of an .npz with one array uint8 [N, height, width, 1 or 3]; in a file
// with several arrays it is arr_0. Of an array that is not compressed they are
// read one by one, and its checksum is compared where all of it is read: by
// ContentHash and Fingerprint. They have no labels. Errors of NpzReader,
// and
//   INVALID_ARGUMENT  there is no such array; says what there is.
absl::StatusOr<std::unique_ptr<ImageStore>> OpenNpzImages(
    const std::string& path);

// The training images of CIFAR-10 or CIFAR-100, the binary or the Python
// version, in the order of its files: in a folder (or the folder that the
// archive unpacks to, inside of it), or in the .tar.gz as it is distributed.
// Labels of CIFAR-100 are the fine ones.
//   INVALID_ARGUMENT  a file is missing, or not as long as it should be.
absl::StatusOr<std::unique_ptr<ImageStore>> OpenCifar(const std::string& path);

// Whether a folder has such files.
bool LooksLikeCifar(const std::string& folder);

}  // namespace gandem
