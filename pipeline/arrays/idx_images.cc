// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/status.h"
#include "pipeline/arrays/array_images.h"
#include "pipeline/formats/gzip.h"
#include "pipeline/formats/idx_reader.h"
#include "pipeline/remote/open_file.h"
#include "pipeline/remote/url.h"

namespace gandem {
namespace {

constexpr char kImagesPart[] = "images-idx3";
constexpr char kLabelsPart[] = "labels-idx1";
constexpr char kTrainImages[] = "/train-images-idx3-ubyte";

// Returns the labels file of `images`, or "". A signed URL is valid for one
// file only, so URLs with a query have none.
absl::StatusOr<std::string> LabelsBeside(const std::string& images) {
  if (NamePart(images).size() < images.size()) return "";
  const size_t slash = images.rfind('/') + 1;
  const size_t part = images.find(kImagesPart, slash);
  if (part == std::string::npos) return "";
  std::string labels = images;
  labels.replace(part, sizeof(kImagesPart) - 1, kLabelsPart);
  GANDEM_ASSIGN_OR_RETURN(const bool beside, FileExists(labels));
  if (beside) return labels;
  const std::string other = absl::EndsWith(labels, ".gz")
                                ? labels.substr(0, labels.size() - 3)
                                : labels + ".gz";
  GANDEM_ASSIGN_OR_RETURN(const bool other_beside, FileExists(other));
  return other_beside ? other : "";
}

absl::StatusOr<std::vector<uint8_t>> ReadIdxLabels(
    const std::string& labels_path, const std::string& images_path,
    int64_t count) {
  if (labels_path.empty()) return std::vector<uint8_t>();
  GANDEM_ASSIGN_OR_RETURN(IdxArray read,
                          ReadIdx(labels_path, /*num_dimensions=*/1));
  if (std::ssize(read.values) == count) return std::move(read.values);
  return absl::InvalidArgumentError(absl::StrCat(
      ShownUrl(labels_path), ": expected one label for each of the ", count,
      " images of ", ShownUrl(images_path), ", found ", read.values.size()));
}

// With `optional`, unusable labels are ignored.
absl::StatusOr<std::unique_ptr<ImageStore>> OpenIdxWith(
    const std::string& images_path, const std::string& labels_path,
    bool optional) {
  GANDEM_ASSIGN_OR_RETURN(IdxArray images,
                          ReadIdx(images_path, /*num_dimensions=*/3));
  auto labels = ReadIdxLabels(labels_path, images_path, images.shape[0]);
  std::string unused;
  if (optional && absl::IsInvalidArgument(labels.status())) {
    unused = std::string(labels.status().message());
    labels = std::vector<uint8_t>();
  }
  GANDEM_RETURN_IF_ERROR(labels);
  return ImagesOfArray(
      {.kind = kIdxKind,
       .path = ShownUrl(images_path),
       .shape = {.channels = 1,
                 .height = images.shape[1],
                 .width = images.shape[2]},
       .parts = {{.memory = HeldBytes(std::move(images.values)),
                  .stride = images.shape[1] * images.shape[2],
                  .images = images.shape[0]}},
       .labels = *std::move(labels),
       .unused_labels = std::move(unused),
       .format = "IDX",
       .file = images_path});
}

}  // namespace

std::string PlainOrGzip(const std::string& path) {
  for (const std::string& candidate : {path, path + ".gz"}) {
    if (PathExists(candidate)) return candidate;
  }
  return "";
}

absl::StatusOr<std::unique_ptr<ImageStore>> OpenIdx(
    const std::string& images_path, const std::string& labels_path) {
  return OpenIdxWith(images_path, labels_path, /*optional=*/false);
}

absl::StatusOr<std::unique_ptr<ImageStore>> OpenIdxByName(const Location& at) {
  const std::string images =
      at.is_folder ? PlainOrGzip(at.path + kTrainImages) : at.path;
  GANDEM_ASSIGN_OR_RETURN(const std::string labels, LabelsBeside(images));
  return OpenIdxWith(images, labels, /*optional=*/true);
}

bool LooksLikeIdx(const Location& at) {
  if (at.is_folder) return !PlainOrGzip(at.path + kTrainImages).empty();
  // Two zeros, the type "unsigned byte", the number of dimensions.
  const auto magic = Unpacked(*FileInMemory(at.name, at.start), /*most=*/4);
  return magic.ok() && magic->size() == 4 && (*magic)[0] == 0 &&
         (*magic)[1] == 0 && (*magic)[2] == 8 && (*magic)[3] <= 4;
}

}  // namespace gandem
