// SPDX-License-Identifier: Apache-2.0
//
// Images of one shape that lie one after the other as bytes: IDX, CIFAR and npz
// files. Those of an unpacked folder of CIFAR stay on the disk, so that several
// processes share what the system keeps of it in memory. Others are held in
// memory once.
//
// Owner, thread safety: see image_store.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/shared_bytes.h"
#include "pipeline/image_store.h"
#include "pipeline/random_access_file.h"
#include "pipeline/trees/location.h"

namespace gandem {

// The kind of what OpenIdx opens.
inline constexpr char kIdxKind[] = "IDX files";

// Some images, `stride` bytes from one to the next.
struct ArrayPart {
  std::shared_ptr<const RandomAccessFile> file = nullptr;  // null: in memory
  SharedBytes memory = {};
  int64_t offset = 0;  // offset of the first image, in bytes
  int64_t stride = 0;
  int64_t images = 0;
};

struct ArrayContents {
  std::string kind = {};  // for people
  std::string path = {};  // for messages
  ImageShape shape = {};  // gray or RGB
  std::vector<ArrayPart> parts = {};
  // Whether the channels of an image lie one after the other. False: the
  // channels of each pixel lie side by side.
  bool has_planes = false;
  std::vector<uint8_t> labels = {};  // empty: none; else one for each image
  std::vector<std::string> class_names = {};
  std::string unused_labels = {};  // as ImageStore::unused_labels
  absl::string_view format = "";   // a constant: "IDX"
  // The file that ContentHash hashes; empty: pixels and labels.
  std::string file = {};
};

std::unique_ptr<ImageStore> ImagesOfArray(ArrayContents contents);

// Images of an IDX file, gray, plain or gzip-compressed. `labels_path` empty:
// no labels. Errors of ReadIdx, and
//   INVALID_ARGUMENT  the number of labels is not that of images.
absl::StatusOr<std::unique_ptr<ImageStore>> OpenIdx(
    const std::string& images_path, const std::string& labels_path);

// Opens the images with the labels beside them: labels-idx1 where the name has
// images-idx3. Labels that do not fit the images are not used. `path` may be a
// folder with train-images-idx3-ubyte.
absl::StatusOr<std::unique_ptr<ImageStore>> OpenIdxByName(const Location& at);

// Whether OpenIdxByName finds images there.
bool LooksLikeIdx(const Location& at);

// Images of an .npz with one array uint8 [N, height, width, 1 or 3]; in a file
// with several arrays it is arr_0. They have no labels. Errors of NpzReader,
// and
//   INVALID_ARGUMENT  there is no such array; says what there is.
absl::StatusOr<std::unique_ptr<ImageStore>> OpenNpzImages(const Location& at);

// The training images of CIFAR-10 or CIFAR-100, the binary or the Python
// version, in the order of its files: in a folder (or the folder that the
// archive unpacks to, inside of it), or in the .tar.gz as it is distributed.
// Labels of CIFAR-100 are the fine ones.
//   INVALID_ARGUMENT  a file is missing, or not as long as it should be.
absl::StatusOr<std::unique_ptr<ImageStore>> OpenCifar(const Location& at);

// Whether a folder has such files, or a name is that of a compressed archive.
bool LooksLikeCifar(const Location& at);

}  // namespace gandem
