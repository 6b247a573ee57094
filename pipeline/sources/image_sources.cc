// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/image_sources.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files/file.h"
#include "common/status.h"
#include "pipeline/formats/image_decoder.h"
#include "pipeline/formats/zip_reader.h"
#include "pipeline/remote/open_file.h"
#include "pipeline/remote/url.h"
#include "pipeline/sources/file_tree.h"
#include "pipeline/sources/memory_images.h"
#include "pipeline/sources/pack_images.h"
#include "pipeline/sources/parquet_files.h"
#include "pipeline/sources/parquet_images.h"
#include "pipeline/sources/survey.h"
#include "pipeline/sources/tree_source.h"

namespace gandem {
namespace {

constexpr int64_t kLookedAt = 64;  // images of a source that tell its kind

using OpenedSource = absl::StatusOr<std::unique_ptr<ImageStore>>;

struct SourceKind {
  absl::string_view name;  // as a message lists it; "": part of another one
  bool (*recognizes)(const std::string& path);
  OpenedSource (*open)(const std::string& path);
};

bool IsFolder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

bool IsTar(const std::string& path) {
  return absl::EndsWithIgnoreCase(NamePart(path), ".tar");
}

bool IsShards(const std::string& path) {
  return (IsTar(path) || absl::EndsWithIgnoreCase(path, ".parquet")) &&
         absl::StrContains(path, "{");
}

bool IsGzippedTar(const std::string& path) {
  const absl::string_view name = NamePart(path);
  return absl::EndsWithIgnoreCase(name, ".tar.gz") ||
         absl::EndsWithIgnoreCase(name, ".tgz");
}

bool IsCifar(const std::string& path) {
  return IsFolder(path) ? LooksLikeCifar(path) : IsGzippedTar(path);
}

// What numpy.savez wrote; another zip is one of images.
bool IsNpz(const std::string& path) {
  if (!LooksLikeZip(path)) return false;
  const auto file = OpenFile(path);
  if (!file.ok()) return false;
  const auto zip = ZipReader::Open(*file);
  return zip.ok() &&
         std::ranges::any_of(zip->members(), [](const ZipMember& member) {
           return absl::EndsWith(member.name, ".npy");
         });
}

template <
    absl::StatusOr<std::unique_ptr<FileTree>> (*kOpen)(const std::string&)>
OpenedSource OpenTree(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(std::unique_ptr<FileTree> tree, kOpen(path));
  return OpenTreeImages(std::move(tree));
}

// A prefix of S3; HTTP has no lists of files, and says so when it is opened.
bool IsRemoteFolder(const std::string& path) {
  return IsUrl(path) && absl::EndsWith(NamePart(path), "/");
}

OpenedSource OpenPacked(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(const std::string shards, ShardsOfFolder(path));
  return OpenTree<OpenTarTree>(shards);
}

// The first that recognizes a path opens it.
constexpr SourceKind kSourceKinds[] = {
    {"s3://BUCKET/FOLDER/ of images", IsRemoteFolder, OpenTree<OpenS3Tree>},
    {"IDX files (or their folder)", LooksLikeIdx, OpenIdxByName},
    {"CIFAR-10 or CIFAR-100 (a folder, or .tar.gz)", IsCifar, OpenCifar},
    {"Parquet (a file, its folder, or name-{00000..00004}-of-00005.parquet)",
     LooksLikeParquet, OpenParquet},
    {"a folder of packed shards", IsPackedFolder, OpenPacked},
    {"a folder of images", IsFolder, OpenTree<OpenFolderTree>},
    {"an .npz", IsNpz, OpenNpzImages},
    {"a zip of images", LooksLikeZip, OpenTree<OpenZipTree>},
    {"a .tar of images (or shards, name-{000000..000009}.tar)", IsTar,
     OpenTree<OpenTarTree>},
};

// "a, b, or c".
std::string NamesOfKinds() {
  std::string names;
  for (const SourceKind& kind : kSourceKinds) {
    const bool last = &kind == std::end(kSourceKinds) - 1;
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

struct SizeRange {
  int64_t least = INT64_MAX;
  int64_t most = 0;

  void Add(int64_t size) {
    least = std::min(least, size);
    most = std::max(most, size);
  }
  std::string Text() const {
    return least == most ? absl::StrCat(least)
                         : absl::StrCat(least, " to ", most);
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<ImageStore>> OpenSource(
    const std::string& path) {
  if (IsUrl(path)) {
    // Those that recognize a path take a failure for a no.
    GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                            ExpandShards(path));
    GANDEM_RETURN_IF_ERROR(ProbeUrl(files.front()));
  } else if (!IsShards(path) && !PathExists(path)) {
    return absl::NotFoundError(
        absl::StrCat("'", path, "': no such file or folder"));
  }
  for (const SourceKind& kind : kSourceKinds) {
    if (kind.recognizes(path)) return kind.open(path);
  }
  return absl::InvalidArgumentError(absl::StrCat("'", ShownUrl(path), "' is ",
                                                 WhatItIs(path), "; expected ",
                                                 NamesOfKinds()));
}

absl::StatusOr<int64_t> ChannelsOf(const ImageStore& source) {
  if (source.common_shape().has_value()) return source.common_shape()->channels;
  for (const int64_t index : SpreadPlaces(source.size(), kLookedAt)) {
    GANDEM_ASSIGN_OR_RETURN(const DecodedImage image, source.Read(index));
    if (image.pixels.channels == 3) return 3;
  }
  return 1;
}

absl::StatusOr<std::string> DescribeSource(const ImageStore& source,
                                           const std::string& path) {
  SizeRange heights;
  SizeRange widths;
  bool any_color = false;
  bool any_gray = false;
  for (const int64_t index : SpreadPlaces(source.size(), kLookedAt)) {
    GANDEM_ASSIGN_OR_RETURN(const DecodedImage image, source.Read(index));
    heights.Add(image.pixels.height);
    widths.Add(image.pixels.width);
    (image.pixels.channels == 3 ? any_color : any_gray) = true;
  }
  const int64_t classes = NumClasses(source);
  return absl::StrCat(
      Count(source.size(), "image", "images"),
      source.left_out() > 0
          ? absl::StrCat(" (", WithCommas(source.left_out()), " left out)")
          : "",
      ", ", heights.Text(), " x ", widths.Text(), ", ",
      !any_color  ? "gray"
      : !any_gray ? "RGB"
                  : "RGB and gray",
      ", ", classes == 0 ? "no labels" : Count(classes, "class", "classes"),
      ": ", source.kind(), " ", ShownUrl(path));
}

}  // namespace gandem
