// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/image_sources.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files/file.h"
#include "common/files/printable.h"
#include "common/process/missing_extra.h"
#include "common/status.h"
#include "pipeline/arrays/array_images.h"
#include "pipeline/formats/image_decoder.h"
#include "pipeline/formats/tar.h"
#include "pipeline/formats/zip_reader.h"
#include "pipeline/in_parallel.h"
#include "pipeline/remote/open_file.h"
#include "pipeline/remote/url.h"
#include "pipeline/sources/pack_images.h"
#include "pipeline/sources/parquet_names.h"
#include "pipeline/sources/source_kind.h"
#include "pipeline/sources/survey.h"
#include "pipeline/sources/tree_source.h"
#include "pipeline/tensor_samples.h"
#include "pipeline/tensors/tensor_images.h"
#include "pipeline/tensors/tensor_paths.h"
#include "pipeline/trees/file_tree.h"

namespace gandem {
namespace {

constexpr int64_t kLookedAt = 64;  // images of a source that tell its kind
// Seconds on a disk of its own, a minute on one behind a network.
constexpr int64_t kMostHeaders = 100'000;
constexpr int64_t kImageHeaderBytes = 16
                                      << 10;  // with what cameras write first
constexpr int64_t kHeadersAtATime = 16;
constexpr size_t kMaxShownReason = 1000;  // bytes

bool IsFolder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

bool HasTarName(const std::string& path) {
  return absl::EndsWithIgnoreCase(NamePart(path), ".tar");
}

// By its name, or as POSIX.1-1988 says.
bool IsTar(const std::string& path) {
  constexpr size_t kMagicAt = 257;
  if (HasTarName(path)) return true;
  const auto start = ReadFileStart(path, kTarBlockBytes);
  return start.ok() && start->size() == kTarBlockBytes &&
         start->substr(kMagicAt, 5) == "ustar";
}

bool IsShards(const std::string& path) {
  return absl::StrContains(path, "{") &&
         (HasTarName(path) || absl::EndsWithIgnoreCase(path, kParquetEnding) ||
          LooksLikeTensors(path));
}

bool IsGzippedTar(const std::string& path) {
  const absl::string_view name = NamePart(path);
  return absl::EndsWithIgnoreCase(name, ".tar.gz") ||
         absl::EndsWithIgnoreCase(name, ".tgz");
}

bool IsCifar(const std::string& path) {
  return IsFolder(path) ? LooksLikeCifar(path) : IsGzippedTar(path);
}

// Whether numpy.savez wrote `path`. A zip that holds images is a zip of images,
// even if it holds arrays too.
bool IsNpz(const std::string& path) {
  if (!LooksLikeZip(path)) return false;
  const auto file = OpenFile(path);
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

template <
    absl::StatusOr<std::unique_ptr<FileTree>> (*kOpen)(const std::string&)>
OpenedSource OpenTree(const std::string& path, const std::string& member) {
  GANDEM_ASSIGN_OR_RETURN(std::unique_ptr<FileTree> tree, kOpen(path));
  return OpenTreeImages(std::move(tree), member);
}

// A prefix of S3; HTTP has no lists of files, and says so when it is opened.
bool IsRemoteFolder(const std::string& path) {
  return IsUrl(path) && absl::EndsWith(NamePart(path), "/");
}

OpenedSource OpenPacked(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(const std::string shards, ShardsOfFolder(path));
  return OpenTree<OpenTarTree>(shards, "");
}

OpenedSource ParquetIsMissing(const std::string& path, const std::string&) {
  return MissingExtraError(absl::StrCat("'", ShownUrl(path), "' is Parquet"),
                           "parquet");
}

// Before those of extras.
constexpr SourceKind kFirstKinds[] = {
    {"s3://BUCKET/FOLDER/ of images", IsRemoteFolder, OpenTree<OpenS3Tree>},
    {"IDX files (or their folder)", LooksLikeIdx,
     OpenWithoutMembers<OpenIdxByName>},
    {"CIFAR-10 or CIFAR-100 (a folder, or .tar.gz)", IsCifar,
     OpenWithoutMembers<OpenCifar>},
};

constexpr SourceKind kLastKinds[] = {
    {"a folder of packed shards", IsPackedFolder,
     OpenWithoutMembers<OpenPacked>},
    {"tensors in .safetensors or .npy (a file, shards, or their folder)",
     LooksLikeTensors, OpenWithoutMembers<OpenTensorImages>},
    {"a folder of images", IsFolder, OpenTree<OpenFolderTree>},
    {"an .npz", IsNpz, OpenWithoutMembers<OpenNpzImages>},
    {"a zip of images", LooksLikeZip, OpenTree<OpenZipTree>},
    {"a .tar of images (or shards, name-{000000..000009}.tar)", IsTar,
     OpenTree<OpenTarTree>},
};

// The first that recognizes a path opens it.
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

// "a, b, or c".
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

std::string WhatItIs(const std::string& path) {
  const std::string name(NamePart(path));
  if (IsImageName(name) || IsOtherImageName(name)) {
    return "one image: name its folder";
  }
  const auto prefix = ReadFileStart(path, 1);
  if (prefix.ok() && prefix->empty()) return "an empty file";
  return "a file of another kind";
}

// 60000 as 60,000.
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

// "28", or "28 to 64".
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

// Whether the header of an image says so. What cannot be read is named where it
// is decoded.
absl::StatusOr<bool> IsColored(const ImageStore& source, int64_t index) {
  auto start = source.FetchStart(index, kImageHeaderBytes);
  if (IsUnreadable(start.status())) return false;
  GANDEM_RETURN_IF_ERROR(start);
  if (!start->has_value()) return false;
  auto shape = ShapeOfImage(**start);
  if (!shape.ok() && std::ssize(**start) == kImageHeaderBytes) {
    GANDEM_ASSIGN_OR_RETURN(const std::string all, source.Fetch(index));
    shape = ShapeOfImage(all);
  }
  return shape.ok() && shape->channels == 3;
}

absl::Status LookAtHeaders(const ImageStore& source, SourceLook& look) {
  GANDEM_ASSIGN_OR_RETURN(const auto first,
                          source.FetchStart(0, kImageHeaderBytes));
  if (!first.has_value()) return absl::OkStatus();
  const std::vector<int64_t> places = SpreadPlaces(source.size(), kMostHeaders);
  GANDEM_ASSIGN_OR_RETURN(
      const std::vector<bool> colored,
      MakeInParallel<bool>(std::ssize(places), kHeadersAtATime, [&](int64_t i) {
        return IsColored(source, places[i]);
      }));
  look.headers = std::ssize(places);
  look.colored_headers = std::ranges::count(colored, true);
  look.any_color = look.colored_headers > 0;
  return absl::OkStatus();
}

// What is said of all images of a source.
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
                                       : "RGB and gray",
                      look.colored_headers > 0
                          ? absl::StrCat(" (RGB: ", look.colored_headers,
                                         " of ", look.headers, ")")
                          : "");
}

}  // namespace

SourceKind MissingParquetKind() {
  return {.name = "", .recognizes = LooksLikeParquet, .open = ParquetIsMissing};
}

absl::Status NoMembersError(const std::string& path,
                            const std::string& member) {
  return absl::InvalidArgumentError(absl::StrCat(
      "'", ShownUrl(path), "' has no files with names, of which data.member ",
      member, " could choose: leave it out"));
}

absl::StatusOr<std::unique_ptr<ImageStore>> OpenSource(
    const std::string& path, const std::string& member) {
  if (IsUrl(path)) {
    // Those that recognize a path take a failure for a no.
    GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                            ExpandShards(path));
    GANDEM_RETURN_IF_ERROR(ProbeUrl(files.front()));
  } else if (!IsShards(path) && !PathExists(path)) {
    return absl::NotFoundError(
        absl::StrCat("'", path, "': no such file or folder"));
  }
  for (const SourceKind& kind : SourceKinds()) {
    if (kind.recognizes(path)) return kind.open(path, member);
  }
  return absl::InvalidArgumentError(absl::StrCat("'", ShownUrl(path), "' is ",
                                                 WhatItIs(path), "; expected ",
                                                 NamesOfKinds()));
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
  if (!look.any_color && source.size() > kLookedAt) {
    GANDEM_RETURN_IF_ERROR(LookAtHeaders(source, look));
  }
  return look;
}

std::string DescribeSource(const ImageStore& source, const SourceLook& look,
                           const std::string& path) {
  const int64_t classes = NumClasses(source);
  const std::string why = source.unused_labels();
  const bool tensors = source.tensors().has_value();
  const std::string unused = UnusedText(source.unused());
  return absl::StrCat(
      tensors ? Count(source.size(), "tensor", "tensors")
              : Count(source.size(), "image", "images"),
      source.left_out() > 0
          ? absl::StrCat(" (", WithCommas(source.left_out()), " left out)")
          : "",
      ", ", AppearanceText(source, look), ", ",
      classes == 0 ? "no labels" : Count(classes, "class", "classes"), ": ",
      source.kind(), " ", ShownUrl(path), unused.empty() ? "" : "; ", unused,
      why.empty() ? ""
                  : absl::StrCat("; its labels are ignored: ",
                                 Printable(why, kMaxShownReason)));
}

}  // namespace gandem
