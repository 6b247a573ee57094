// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/png_dataset.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/files/file.h"
#include "common/files/png.h"
#include "common/files/sha256.h"
#include "common/status.h"
#include "pipeline/formats/tar.h"
#include "pipeline/sources/byte_values.h"

namespace gandem {
namespace {

constexpr absl::string_view kOtherFormats[] = {
    ".bmp", ".gif", ".jpeg", ".jpg", ".ppm", ".tif", ".tiff", ".webp"};

std::string PngShapeText(ImageShape shape) {
  return absl::StrCat(shape.height, " x ", shape.width,
                      shape.channels == 1 ? " gray" : " RGB");
}

bool IsPng(absl::string_view name) {
  return absl::EndsWithIgnoreCase(name, ".png");
}

absl::Status CheckName(absl::string_view name) {
  for (const absl::string_view format : kOtherFormats) {
    if (absl::EndsWithIgnoreCase(name, format)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", name, "' is not a PNG file: convert the images to 8-bit PNG"));
    }
  }
  return absl::OkStatus();
}

absl::Status NoImages(const std::string& path) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", path, "' holds no PNG files"));
}

// A PNG of 8 bits, gray or RGB. DecodePng would convert others, and each
// program does that in its own way. Errors name `name`.
absl::StatusOr<PixelImage> DecodeEightBitPng(absl::string_view bytes,
                                             absl::string_view name) {
  // PNG specification, sections 5.2 and 11.2.2: signature, length, "IHDR",
  // width, height, bit depth, color type.
  constexpr absl::string_view kSignature = "\x89PNG\r\n\x1a\n";
  constexpr size_t kDepth = 24;
  constexpr size_t kColorType = 25;
  if (!absl::StartsWith(bytes, kSignature) || bytes.size() <= kColorType) {
    return absl::DataLossError(absl::StrCat("'", name, "' is not a PNG"));
  }
  const int depth = static_cast<unsigned char>(bytes[kDepth]);
  const int type = static_cast<unsigned char>(bytes[kColorType]);
  if (depth != 8 || (type != 0 && type != 2)) {
    const absl::string_view color = type == 0   ? "gray"
                                    : type == 2 ? "RGB"
                                    : type == 3 ? "palette"
                                    : type == 4 ? "gray with alpha"
                                                : "RGB with alpha";
    return absl::InvalidArgumentError(absl::StrCat(
        "'", name, "' is a PNG of ", depth, " bits, ", color,
        "; metrics are defined for 8-bit RGB (or gray) images: convert all of "
        "them"));
  }
  absl::StatusOr<PixelImage> image = DecodePng(bytes);
  if (!image.ok()) {
    return Annotate(image.status(), absl::StrCat("'", name, "'"));
  }
  return image;
}

// PNG files of a folder or an archive: only what it takes to read one differs.
class PngDataset : public Dataset {
 public:
  // Called from any thread.
  using ReadBytes = std::function<absl::StatusOr<std::string>(int64_t index)>;

  // The shape is that of the first image.
  static absl::StatusOr<std::unique_ptr<Dataset>> Create(
      std::vector<std::string> names, ReadBytes read) {
    GANDEM_ASSIGN_OR_RETURN(const std::string bytes, read(0));
    GANDEM_ASSIGN_OR_RETURN(const PixelImage first,
                            DecodeEightBitPng(bytes, names[0]));
    return std::unique_ptr<Dataset>(
        new PngDataset(std::move(names), std::move(read), ShapeOf(first)));
  }

  int64_t size() const override { return std::ssize(names_); }
  ImageShape shape() const override { return shape_; }

  absl::StatusOr<int64_t> Read(int64_t index,
                               std::span<float> out) const override {
    GANDEM_CHECK(std::ssize(out) == shape_.NumValues());
    GANDEM_ASSIGN_OR_RETURN(const std::string bytes, read_(index));
    GANDEM_ASSIGN_OR_RETURN(const PixelImage image,
                            DecodeEightBitPng(bytes, names_[index]));
    if (ShapeOf(image) != shape_) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", names_[index], "' is ", PngShapeText(ShapeOf(image)), ", but '",
          names_[0], "' is ", PngShapeText(shape_),
          ": all images must be alike"));
    }
    ValuesOfBytes(image.pixels, shape_, out);
    return kNoLabel;
  }

  // The same for the same files in a folder and in a .tar.
  absl::StatusOr<std::string> ContentHash() const override {
    Sha256 hash;
    for (int64_t i = 0; i < size(); ++i) {
      GANDEM_ASSIGN_OR_RETURN(const std::string bytes, read_(i));
      hash.Update(absl::StrCat("png ", bytes.size(), " "));
      hash.Update(bytes);
    }
    return hash.Finish();
  }

 private:
  PngDataset(std::vector<std::string> names, ReadBytes read, ImageShape shape)
      : names_(std::move(names)), read_(std::move(read)), shape_(shape) {}

  static ImageShape ShapeOf(const PixelImage& image) {
    return {.channels = image.channels,
            .height = image.height,
            .width = image.width};
  }

  // Never change after construction.
  const std::vector<std::string> names_;
  const ReadBytes read_;
  const ImageShape shape_;
};

// Relative names of all PNG files below the folder, sorted.
absl::StatusOr<std::vector<std::string>> ListPngs(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> names;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error);
  for (; !error && it != fs::recursive_directory_iterator();
       it.increment(error)) {
    const std::string name = it->path().lexically_relative(folder).string();
    if (it->is_directory(error)) continue;
    GANDEM_RETURN_IF_ERROR(CheckName(name));
    if (IsPng(name)) names.push_back(name);
  }
  if (error) return FileError(error.value(), "cannot list", folder);
  std::ranges::sort(names);
  return names;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenPngFolder(const SourceSpec& spec) {
  const std::string& path = spec.path;
  GANDEM_ASSIGN_OR_RETURN(std::vector<std::string> names, ListPngs(path));
  if (names.empty()) return NoImages(path);
  for (std::string& name : names) name = absl::StrCat(path, "/", name);
  return PngDataset::Create(
      names, [names](int64_t index) { return ReadFile(names[index]); });
}

absl::StatusOr<std::unique_ptr<Dataset>> OpenPngTar(const SourceSpec& spec) {
  const std::string& path = spec.path;
  GANDEM_ASSIGN_OR_RETURN(std::vector<TarMember> members, ListTar(path));
  for (const TarMember& member : members) {
    GANDEM_RETURN_IF_ERROR(CheckName(member.name));
  }
  std::erase_if(members,
                [](const TarMember& member) { return !IsPng(member.name); });
  if (members.empty()) return NoImages(path);
  std::ranges::stable_sort(members, {}, &TarMember::name);
  std::vector<std::string> names;
  for (const TarMember& member : members) {
    names.push_back(absl::StrCat(path, ":", member.name));
  }
  return PngDataset::Create(std::move(names), [path, members](int64_t index) {
    return ReadTarMember(path, members[index]);
  });
}

}  // namespace gandem
