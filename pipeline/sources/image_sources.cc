// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/image_sources.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files/printable.h"
#include "common/process/missing_extra.h"
#include "common/status.h"
#include "pipeline/arrays/array_images.h"
#include "pipeline/formats/image_decoder.h"
#include "pipeline/formats/tar.h"
#include "pipeline/formats/zip_reader.h"
#include "pipeline/remote/open_file.h"
#include "pipeline/remote/url.h"
#include "pipeline/sources/pack_images.h"
#include "pipeline/sources/parquet_names.h"
#include "pipeline/sources/survey.h"
#include "pipeline/sources/tree_source.h"
#include "pipeline/tensor_samples.h"
#include "pipeline/tensors/tensor_images.h"
#include "pipeline/tensors/tensor_paths.h"
#include "pipeline/trees/file_tree.h"
#include "pipeline/trees/location.h"

namespace gandem {
namespace {

constexpr int64_t kLookedAt = 64;         // images inspected per source
constexpr size_t kMaxShownReason = 1000;  // bytes

// Recognizes a tar by its name or by the magic of POSIX.1-1988.
bool IsTar(const Location& at) {
  constexpr size_t kMagicAt = 257;
  return at.HasEnding(".tar") || (std::ssize(at.start) == kTarBlockBytes &&
                                  at.start.substr(kMagicAt, 5) == "ustar");
}

bool IsZip(const Location& at) { return BeginsAsZip(at.start); }

// Returns whether numpy.savez wrote the file. A zip that contains images is not
// an npz, even if it also contains arrays.
bool IsNpz(const Location& at) {
  if (!IsZip(at)) return false;
  const auto file = OpenFile(at.path);
  if (!file.ok()) return false;
  const auto zip = ZipReader::Open(*file);
  return zip.ok() &&
         std::ranges::any_of(zip->members(),
                             [](const ZipMember& member) {
                               return absl::EndsWith(member.name, ".npy");
                             }) &&
         std::ranges::none_of(zip->members(), [](const ZipMember& member) {
           return IsImageName(member.name);
         });
}

bool IsFolder(const Location& at) { return at.is_folder; }

// Also true for HTTP folders; Locate rejects these, since HTTP has no lists.
bool IsRemoteFolder(const Location& at) { return at.is_url && at.is_folder; }

bool IsPacked(const Location& at) {
  return at.is_folder && IsPackedFolder(at.path);
}

template <OpenedSource (*kOpen)(const Location&)>
OpenedSource Open(const Location& at, const SourceOptions& /*options*/) {
  return kOpen(at);
}

template <OpenedTree (*kOpen)(const Location&)>
OpenedSource OpenTree(const Location& at, const SourceOptions& options) {
  GANDEM_ASSIGN_OR_RETURN(std::unique_ptr<FileTree> tree, kOpen(at));
  return OpenTreeImages(std::move(tree), options.member);
}

OpenedSource OpenPacked(const Location& at) {
  GANDEM_ASSIGN_OR_RETURN(const std::string path, ShardsOfFolder(at.path));
  GANDEM_ASSIGN_OR_RETURN(const Location shards, Locate(path));
  return OpenTree<OpenTarTree>(shards, {});
}

OpenedSource ParquetIsMissing(const Location& at) {
  return MissingExtraError(absl::StrCat("'", at.Shown(), "' is Parquet"),
                           "parquet");
}

// Kinds that are tried before those of extras.
constexpr SourceKind kFirstKinds[] = {
    {"s3://BUCKET/FOLDER/ of images", IsRemoteFolder, OpenTree<OpenS3Tree>,
     true},
    {"IDX files (or their folder)", LooksLikeIdx, Open<OpenIdxByName>},
    {"CIFAR-10 or CIFAR-100 (a folder, or .tar.gz)", LooksLikeCifar,
     Open<OpenCifar>},
};

constexpr SourceKind kLastKinds[] = {
    {"a folder of packed shards", IsPacked, Open<OpenPacked>},
    {"tensors in .safetensors or .npy (a file, shards, or their folder)",
     LooksLikeTensors, Open<OpenTensorImages>},
    {"a folder of images", IsFolder, OpenTree<OpenFolderTree>, true},
    {"an .npz", IsNpz, Open<OpenNpzImages>},
    {"a zip of images", IsZip, OpenTree<OpenZipTree>, true},
    {"a .tar of images (or shards, name-{000000..000009}.tar)", IsTar,
     OpenTree<OpenTarTree>, true},
};

// Kinds in the order in which they are tried.
const std::vector<SourceKind>& SourceKinds() {
  static const auto* const kinds = [] {
    auto* const all = new std::vector<SourceKind>(std::begin(kFirstKinds),
                                                  std::end(kFirstKinds));
    std::ranges::copy(ExtraSourceKinds(), std::back_inserter(*all));
    all->push_back(MissingParquetKind());
    std::ranges::copy(kLastKinds, std::back_inserter(*all));
    return all;
  }();
  return *kinds;
}

// Lists the kinds: "a, b, or c".
std::string NamesOfKinds() {
  std::string names;
  for (const SourceKind& kind : SourceKinds()) {
    if (kind.name.empty()) continue;
    const bool last = &kind == &SourceKinds().back();
    absl::StrAppend(&names, names.empty() ? "" : ", ", last ? "or " : "",
                    kind.name);
  }
  return names;
}

std::string WhatItIs(const Location& at) {
  if (IsImageName(at.name) || IsOtherImageName(at.name)) {
    return "one image: name its folder";
  }
  return at.start.empty() ? "an empty file" : "a file of another kind";
}

// Formats 60000 as 60,000.
std::string WithCommas(int64_t number) {
  const std::string digits = absl::StrCat(number);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text.push_back(',');
    text.push_back(digits[i]);
  }
  return text;
}

std::string Count(int64_t number, absl::string_view what,
                  absl::string_view many) {
  return absl::StrCat(WithCommas(number), " ", number == 1 ? what : many);
}

std::string RangeText(int64_t least, int64_t most) {
  return least == most ? absl::StrCat(least)
                       : absl::StrCat(least, " to ", most);
}

absl::StatusOr<SourceLook> LookAtTensors(const ImageStore& source) {
  const StoredFormat format = *source.tensors();
  SourceLook look;
  std::vector<float> values(static_cast<size_t>(format.shape.NumValues()));
  for (const int64_t index : SpreadPlaces(source.size(), kLookedAt)) {
    GANDEM_ASSIGN_OR_RETURN(const std::string stored, source.Fetch(index));
    const float most = ReadTensor(stored, format.dtype, /*scale=*/1, values);
    if (!std::isfinite(most)) {
      return absl::DataLossError(
          absl::StrCat(source.NameOf(index), ": a value of it is not finite"));
    }
    look.most_value = std::max(look.most_value, most);
  }
  return look;
}

std::string AppearanceText(const ImageStore& source, const SourceLook& look) {
  if (source.tensors().has_value()) {
    const StoredFormat format = *source.tensors();
    return absl::StrCat(TensorShapeText(format.shape), ", ",
                        DTypeName(format.dtype), ", up to ",
                        absl::StrFormat("%.3g", look.most_value));
  }
  return absl::StrCat(RangeText(look.least_height, look.most_height), " x ",
                      RangeText(look.least_width, look.most_width), ", ",
                      !look.any_color  ? "gray"
                      : !look.any_gray ? "RGB"
                                       : "RGB and gray");
}

}  // namespace

SourceKind MissingParquetKind() {
  return {.name = "",
          .recognizes = LooksLikeParquet,
          .open = Open<ParquetIsMissing>};
}

OpenedSource OpenSource(const std::string& path, const SourceOptions& options) {
  GANDEM_ASSIGN_OR_RETURN(const Location at, Locate(path));
  for (const SourceKind& kind : SourceKinds()) {
    if (!kind.recognizes(at)) continue;
    if (kind.has_members || options.member.empty()) {
      return kind.open(at, options);
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "'", at.Shown(), "' has no files with names, of which data.member ",
        options.member, " could choose: leave it out"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", at.Shown(), "' is ", WhatItIs(at), "; expected ", NamesOfKinds()));
}

absl::StatusOr<SourceLook> LookAtImages(const ImageStore& source,
                                        bool for_channels) {
  if (source.tensors().has_value()) return LookAtTensors(source);
  SourceLook look;
  for (const int64_t index : SpreadPlaces(source.size(), kLookedAt)) {
    GANDEM_ASSIGN_OR_RETURN(const DecodedImage image, source.Read(index));
    const PixelImage& pixels = image.pixels;
    look.least_height = std::min(look.least_height, pixels.height);
    look.most_height = std::max(look.most_height, pixels.height);
    look.least_width = std::min(look.least_width, pixels.width);
    look.most_width = std::max(look.most_width, pixels.width);
    (pixels.channels == 3 ? look.any_color : look.any_gray) = true;
    if (for_channels && look.any_color) break;
  }
  return look;
}

std::string DescribeSource(const ImageStore& source, const SourceLook& look,
                           const std::string& path) {
  const int64_t classes = NumClasses(source);
  const SourceInfo& info = source.info();
  const bool tensors = source.tensors().has_value();
  const std::string unused = UnusedText(info.unused);
  return absl::StrCat(
      tensors ? Count(source.size(), "tensor", "tensors")
              : Count(source.size(), "image", "images"),
      info.left_out > 0
          ? absl::StrCat(" (", WithCommas(info.left_out), " left out)")
          : "",
      ", ", AppearanceText(source, look), ", ",
      classes == 0 ? "no labels" : Count(classes, "class", "classes"), ": ",
      source.kind(), " ", ShownUrl(path), unused.empty() ? "" : "; ", unused,
      info.unused_labels.empty()
          ? ""
          : absl::StrCat("; its labels are ignored: ",
                         Printable(info.unused_labels, kMaxShownReason)));
}

}  // namespace gandem
