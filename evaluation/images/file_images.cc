// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/file_images.h"

#include <torch/torch.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/files/file.h"
#include "common/files/sha256.h"
#include "common/status.h"
#include "pipeline/formats/npz.h"
#include "pipeline/formats/tar.h"

namespace gandem {
namespace {

constexpr absl::string_view kOtherFormats[] = {
    ".bmp", ".gif", ".jpeg", ".jpg", ".ppm", ".tif", ".tiff", ".webp"};

std::string FileShapeText(ImageShape shape) {
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

// PNG files of a folder or an archive: only what it takes to read one differs.
class PngImages : public ImageSet {
 public:
  using ReadBytes = std::function<absl::StatusOr<std::string>(int64_t index)>;

  // The shape is that of the first image.
  static absl::StatusOr<std::unique_ptr<ImageSet>> Create(
      std::vector<std::string> names, ReadBytes read) {
    std::unique_ptr<PngImages> source(
        new PngImages(std::move(names), std::move(read)));
    GANDEM_ASSIGN_OR_RETURN(const PixelImage first, source->ReadOne(0));
    source->shape_ = {.channels = first.channels,
                      .height = first.height,
                      .width = first.width};
    return source;
  }

  int64_t size() const override { return std::ssize(names_); }
  ImageShape shape() const override { return shape_; }

  absl::StatusOr<ImagesCard> Describe() const override {
    Sha256 hash;
    for (int64_t i = 0; i < size(); ++i) {
      GANDEM_ASSIGN_OR_RETURN(const std::string bytes, read_(i));
      hash.Update(absl::StrCat("png ", bytes.size(), " "));
      hash.Update(bytes);
    }
    ImagesCard card;
    card.set_kind("files");
    card.set_sha256(hash.Finish());
    card.set_channels(shape_.channels);
    card.set_height(shape_.height);
    card.set_width(shape_.width);
    return card;
  }

 protected:
  absl::StatusOr<at::Tensor> ReadImages(IndexRange range) override {
    const at::Tensor images_NHWC = torch::empty(
        {range.count, shape_.height, shape_.width, shape_.channels},
        torch::kByte);
    uint8_t* pixels = images_NHWC.mutable_data_ptr<uint8_t>();
    for (int64_t i = range.first; i < range.end(); ++i) {
      GANDEM_ASSIGN_OR_RETURN(const PixelImage image, ReadOne(i));
      const ImageShape shape = {.channels = image.channels,
                                .height = image.height,
                                .width = image.width};
      if (shape != shape_) {
        return absl::InvalidArgumentError(absl::StrCat(
            "'", names_[i], "' is ", FileShapeText(shape), ", but '", names_[0],
            "' is ", FileShapeText(shape_), ": all images must be alike"));
      }
      pixels = std::ranges::copy(image.pixels, pixels).out;
    }
    return images_NHWC.permute({0, 3, 1, 2}).contiguous();
  }

 private:
  PngImages(std::vector<std::string> names, ReadBytes read)
      : names_(std::move(names)), read_(std::move(read)) {}

  absl::StatusOr<PixelImage> ReadOne(int64_t index) {
    GANDEM_ASSIGN_OR_RETURN(const std::string bytes, read_(index));
    return DecodeEightBitPng(bytes, names_[index]);
  }

  const std::vector<std::string> names_;
  const ReadBytes read_;
  ImageShape shape_;
};

class NpzImages : public ImageSet {
 public:
  static absl::StatusOr<std::unique_ptr<ImageSet>> Open(
      const std::string& path) {
    GANDEM_ASSIGN_OR_RETURN(const NpzReader reader, NpzReader::Open(path));
    const std::vector<std::string> names = reader.names();
    // A second array holds labels where guided-diffusion wrote the file.
    const std::string name =
        reader.Has("arr_0") || names.size() != 1 ? "arr_0" : names[0];
    if (!reader.Has(name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", path, "' holds the arrays ", absl::StrJoin(names, ", "),
          "; images are expected in one of the name arr_0"));
    }
    GANDEM_ASSIGN_OR_RETURN(NamedTensor array, reader.Read(name));
    const std::vector<int64_t>& shape = array.shape;
    if (array.dtype != DType::kU8 || shape.size() != 4 || shape[0] < 1 ||
        shape[1] < 1 || shape[2] < 1 || (shape[3] != 1 && shape[3] != 3)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", path, "': ", name, " is ", DTypeName(array.dtype),
                       " [", absl::StrJoin(shape, ", "),
                       "]; 8-bit images are U8 [N, height, width, 1 or 3]"));
    }
    return std::unique_ptr<ImageSet>(new NpzImages(path, std::move(array)));
  }

  int64_t size() const override { return array_.shape[0]; }
  ImageShape shape() const override {
    return {.channels = array_.shape[3],
            .height = array_.shape[1],
            .width = array_.shape[2]};
  }

  absl::StatusOr<ImagesCard> Describe() const override {
    ImagesCard card;
    card.set_kind("files");
    GANDEM_ASSIGN_OR_RETURN(*card.mutable_sha256(), Sha256OfFile(path_));
    card.set_channels(shape().channels);
    card.set_height(shape().height);
    card.set_width(shape().width);
    return card;
  }

 protected:
  absl::StatusOr<at::Tensor> ReadImages(IndexRange range) override {
    const int64_t values = shape().NumValues();
    const at::Tensor images_NHWC = torch::empty(
        {range.count, shape().height, shape().width, shape().channels},
        torch::kByte);
    std::memcpy(images_NHWC.mutable_data_ptr<uint8_t>(),
                array_.bytes.data() + range.first * values,
                static_cast<size_t>(range.count * values));
    return images_NHWC.permute({0, 3, 1, 2}).contiguous();
  }

 private:
  NpzImages(std::string path, NamedTensor array)
      : path_(std::move(path)), array_(std::move(array)) {}

  const std::string path_;
  const NamedTensor array_;
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

absl::StatusOr<std::unique_ptr<ImageSet>> OpenFolder(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(std::vector<std::string> names, ListPngs(path));
  if (names.empty()) return NoImages(path);
  for (std::string& name : names) name = absl::StrCat(path, "/", name);
  return PngImages::Create(
      names, [names](int64_t index) { return ReadFile(names[index]); });
}

absl::StatusOr<std::unique_ptr<ImageSet>> OpenTar(const std::string& path) {
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
  return PngImages::Create(std::move(names), [path, members](int64_t index) {
    return ReadTarMember(path, members[index]);
  });
}

}  // namespace

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

absl::StatusOr<std::unique_ptr<ImageSet>> OpenFileImages(
    const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    return absl::NotFoundError(
        absl::StrCat("'", path, "': no such file or folder"));
  }
  if (std::filesystem::is_directory(status)) return OpenFolder(path);
  if (LooksLikeNpz(path)) return NpzImages::Open(path);
  if (absl::EndsWithIgnoreCase(path, ".tar")) return OpenTar(path);
  return absl::InvalidArgumentError(absl::StrCat(
      "'", path,
      "': expected a folder of PNG files, a .tar of them, or an .npz"));
}

}  // namespace gandem
