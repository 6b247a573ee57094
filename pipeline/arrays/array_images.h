// SPDX-License-Identifier: Apache-2.0
//
// Uncompressed images of one shape, stored contiguously: IDX, CIFAR and npz
// files. Images of an unpacked CIFAR folder stay on disk, so that processes
// share the page cache; others are held in memory once.
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

// SourceInfo::kind of sources opened by OpenIdx.
inline constexpr char kIdxKind[] = "IDX files";

// Images at a distance of `stride` bytes.
struct ArrayPart {
  std::shared_ptr<const RandomAccessFile> file = nullptr;  // null: in memory
  SharedBytes memory = {};
  int64_t offset = 0;  // of the first image, in bytes
  int64_t stride = 0;
  int64_t images = 0;
};

struct ArrayContents {
  std::string kind = {};  // for people
  std::string path = {};  // for messages
  ImageShape shape = {};  // gray or RGB
  std::vector<ArrayPart> parts = {};
  // Whether channels are planar; false: interleaved by pixel.
  bool has_planes = false;
  std::vector<uint8_t> labels = {};  // empty: none; otherwise one per image
  std::vector<std::string> class_names = {};
  std::string unused_labels = {};  // as SourceInfo::unused_labels
  absl::string_view format = "";   // a constant: "IDX"
  // File hashed by ContentHash; empty: pixels and labels.
  std::string file = {};
};

std::unique_ptr<ImageStore> ImagesOfArray(ArrayContents contents);

// Opens gray images of an IDX file, plain or gzip-compressed. `labels_path`
// empty: no labels. Errors of ReadIdx, and
//   INVALID_ARGUMENT  the numbers of labels and images differ.
absl::StatusOr<std::unique_ptr<ImageStore>> OpenIdx(
    const std::string& images_path, const std::string& labels_path);

// Returns `path` or `path`.gz, whichever exists; otherwise "".
std::string PlainOrGzip(const std::string& path);

// Opens images with their labels: labels-idx1 instead of images-idx3 in the
// name, ignored if they do not fit. `at` may be a folder of training images.
absl::StatusOr<std::unique_ptr<ImageStore>> OpenIdxByName(const Location& at);

// Returns whether OpenIdxByName would find images at `at`.
bool LooksLikeIdx(const Location& at);

// Opens images of an .npz with one array uint8 [N, height, width, 1 or 3]; of
// several arrays, arr_0 is used. There are no labels. Errors of NpzReader, and
//   INVALID_ARGUMENT  there is no such array; lists the arrays.
absl::StatusOr<std::unique_ptr<ImageStore>> OpenNpzImages(const Location& at);

// Opens the training images of CIFAR-10 or CIFAR-100 in file order, in the
// binary or Python version: from a folder, its unpacked subfolder, or the
// distributed .tar.gz. CIFAR-100 has the fine labels.
//   INVALID_ARGUMENT  a file is missing or has the wrong size.
absl::StatusOr<std::unique_ptr<ImageStore>> OpenCifar(const Location& at);

// Returns whether `at` is a CIFAR folder or is named like a CIFAR archive.
bool LooksLikeCifar(const Location& at);

}  // namespace gandem
