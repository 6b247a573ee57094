// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/files/sha256.h"
#include "common/status.h"
#include "pipeline/formats/npz.h"
#include "pipeline/formats/zip_format.h"
#include "pipeline/remote/open_file.h"
#include "pipeline/remote/url.h"
#include "pipeline/sources/memory_images.h"

namespace gandem {
namespace {

constexpr int64_t kNpzPiece = int64_t{1} << 22;

// An array that is stored as it is, as numpy.savez writes it. Its images are
// read one by one: several processes share what the system has of the file.
class StoredNpzImages : public ImageStore {
 public:
  StoredNpzImages(std::string path_or_url, const NpzReader& reader,
                  const NpzReader::StoredArray& array)
      : path_or_url_(std::move(path_or_url)),
        path_(ShownUrl(path_or_url_)),
        file_(reader.file()),
        header_at_(array.header_at),
        data_at_(array.header_at +
                 static_cast<int64_t>(array.layout.header_bytes)),
        data_bytes_(static_cast<int64_t>(array.layout.data_bytes)),
        crc32_(array.crc32),
        size_(array.layout.shape[0]),
        shape_({.channels = array.layout.shape[3],
                .height = array.layout.shape[1],
                .width = array.layout.shape[2]}) {}

  std::string kind() const override { return "an .npz of images"; }
  int64_t size() const override { return size_; }
  std::optional<ImageShape> common_shape() const override { return shape_; }
  std::string NameOf(int64_t index) const override {
    return absl::StrCat(path_, ": image ", index);
  }
  int64_t LabelOf(int64_t /*index*/) const override { return kNoLabel; }
  const std::vector<std::string>& class_names() const override {
    return class_names_;
  }

  absl::StatusOr<std::string> Fetch(int64_t index) const override {
    GANDEM_CHECK(index >= 0 && index < size_);
    const int64_t bytes = shape_.NumValues();
    return file_->Read(data_at_ + index * bytes, bytes);
  }
  absl::StatusOr<DecodedImage> Decode(int64_t /*index*/,
                                      absl::string_view stored) const override {
    GANDEM_CHECK(static_cast<int64_t>(stored.size()) == shape_.NumValues());
    return DecodedImage{
        .pixels = {.channels = shape_.channels,
                   .height = shape_.height,
                   .width = shape_.width,
                   .pixels =
                       std::vector<uint8_t>(stored.begin(), stored.end())},
        .kind = {.format = "npz",
                 .color = shape_.channels == 1 ? "gray" : "RGB"}};
  }

  absl::StatusOr<std::string> ContentHash() const override {
    // The one place where all of it is read: its checksum is compared here.
    GANDEM_RETURN_IF_ERROR(Fingerprint());
    return HashOfFile(path_or_url_);
  }
  // That of ImagesInMemory.
  absl::StatusOr<std::string> Fingerprint() const override {
    Sha256 hash;
    hash.Update(absl::StrCat(size_, " images ", ShapeText(shape_), " "));
    GANDEM_ASSIGN_OR_RETURN(const std::string header,
                            file_->Read(header_at_, data_at_ - header_at_));
    uint32_t crc = zip::Crc32(0, header);
    for (int64_t at = 0; at < data_bytes_; at += kNpzPiece) {
      GANDEM_ASSIGN_OR_RETURN(
          const std::string piece,
          file_->Read(data_at_ + at, std::min(kNpzPiece, data_bytes_ - at)));
      crc = zip::Crc32(crc, piece);
      hash.Update(piece);
    }
    if (crc == crc32_) return hash.Finish();
    return absl::DataLossError(absl::StrCat(
        path_, ": damaged: the checksum of its images does not fit"));
  }

 private:
  // Never change after construction.
  const std::string path_or_url_;
  const std::string path_;  // for messages
  const std::shared_ptr<const RandomAccessFile> file_;
  const int64_t header_at_;
  const int64_t data_at_;
  const int64_t data_bytes_;
  const uint32_t crc32_;  // of header and data
  const int64_t size_;
  const ImageShape shape_;
  const std::vector<std::string> class_names_;
};

absl::Status CheckImageArray(const std::string& path, const std::string& name,
                             DType dtype, std::span<const int64_t> shape) {
  if (dtype == DType::kU8 && shape.size() == 4 && shape[0] >= 1 &&
      shape[1] >= 1 && shape[2] >= 1 && (shape[3] == 1 || shape[3] == 3)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", path, "': ", name, " is ", DTypeName(dtype), " [",
                   absl::StrJoin(shape, ", "),
                   "]; 8-bit images are U8 [N, height, width, 1 or 3]"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ImageStore>> OpenNpzImages(
    const std::string& path_or_url) {
  GANDEM_ASSIGN_OR_RETURN(const NpzReader reader, NpzReader::Open(path_or_url));
  const std::string path = ShownUrl(path_or_url);
  const std::vector<std::string> names = reader.names();
  // A second array holds labels where guided-diffusion wrote the file.
  const std::string name =
      reader.Has("arr_0") || names.size() != 1 ? "arr_0" : names[0];
  if (!reader.Has(name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path, "' holds the arrays ", absl::StrJoin(names, ", "),
        "; images are expected in one of the name arr_0"));
  }
  GANDEM_ASSIGN_OR_RETURN(const auto stored, reader.FindStored(name));
  if (stored.has_value()) {
    GANDEM_RETURN_IF_ERROR(CheckImageArray(path, name, stored->layout.dtype,
                                           stored->layout.shape));
    return std::make_unique<StoredNpzImages>(path_or_url, reader, *stored);
  }
  GANDEM_ASSIGN_OR_RETURN(const NamedTensor array, reader.Read(name));
  const std::vector<int64_t>& shape = array.shape;
  GANDEM_RETURN_IF_ERROR(CheckImageArray(path, name, array.dtype, shape));
  const auto* const bytes =
      reinterpret_cast<const uint8_t*>(array.bytes.data());
  return ImagesInMemory(
      {.kind = "an .npz of images",
       .path = path,
       .shape = {.channels = shape[3], .height = shape[1], .width = shape[2]},
       .pixels = {bytes, bytes + array.bytes.size()},
       .format = "npz",
       .file = path_or_url});
}

}  // namespace gandem
