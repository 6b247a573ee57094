// SPDX-License-Identifier: Apache-2.0
//
// Images and archives of images for tests of sources.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/checkpoint/safetensors.h"
#include "common/files/file.h"
#include "common/files/png.h"
#include "pipeline/formats/tar.h"
#include "pipeline/formats/zip_format.h"
#include "pipeline/image_store.h"
#include "pipeline/sources/image_sources.h"

namespace gandem::testing {

// Returns random pixels that depend on `seed` only.
inline PixelImage NoiseImage(int64_t channels, int64_t height, int64_t width,
                             uint32_t seed) {
  PixelImage image = {.channels = channels, .height = height, .width = width};
  uint32_t state = 2654435761u * (seed + 1);
  for (int64_t i = 0; i < channels * height * width; ++i) {
    state = state * 1664525u + 1013904223u;
    image.pixels.push_back(static_cast<uint8_t>(state >> 24));
  }
  return image;
}

inline std::string PngBytes(const PixelImage& image) {
  auto bytes = EncodePng(image);
  GANDEM_CHECK_OK(bytes.status());
  return *std::move(bytes);
}

// Returns the description of a source as shown by `gandem`, for the path "P".
inline std::string DescribeAsP(const ImageStore& source) {
  const auto look = LookAtImages(source);
  return look.ok() ? DescribeSource(source, *look, "P")
                   : std::string(look.status().message());
}

using NamedBytes = std::vector<std::pair<std::string, std::string>>;

inline void WriteTree(const std::string& folder, const NamedBytes& files) {
  for (const auto& [name, bytes] : files) {
    const std::string path = absl::StrCat(folder, "/", name);
    GANDEM_CHECK_OK(CreateDirectories(ParentOf(path)));
    GANDEM_CHECK_OK(WriteFile(path, bytes));
  }
}

inline void WriteTar(const std::string& path, const NamedBytes& files) {
  auto tar = TarWriter::Create(path);
  GANDEM_CHECK_OK(tar.status());
  for (const auto& [name, bytes] : files) {
    GANDEM_CHECK_OK(tar->Add(name, bytes));
  }
  GANDEM_CHECK_OK(tar->Finish());
}

// Returns `bytes` compressed with deflate, without a header.
inline std::string Deflated(const std::string& bytes) {
  z_stream stream = {};
  GANDEM_CHECK(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, -MAX_WBITS, 8,
                            Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  GANDEM_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// Returns a zip archive, stored as by StyleGAN's dataset_tool, or deflated.
inline std::string ZipBytes(const NamedBytes& files, bool deflate = false) {
  constexpr uint16_t kDeflateMethod = 8;
  std::string archive;
  std::string directory;
  for (const auto& [name, bytes] : files) {
    const auto offset = static_cast<uint32_t>(archive.size());
    const std::string stored = deflate ? Deflated(bytes) : bytes;
    const std::string sizes =
        zip::Pack(zip::Crc32(0, bytes), static_cast<uint32_t>(stored.size()),
                  static_cast<uint32_t>(bytes.size()),
                  static_cast<uint16_t>(name.size()), uint16_t{0});
    const std::string kind = zip::Pack(uint16_t{20}, uint16_t{0},
                                       deflate ? kDeflateMethod : zip::kStored,
                                       uint16_t{0}, zip::kDate1980);
    archive += zip::Pack(zip::kLocalSignature) + kind + sizes + name + stored;
    directory +=
        zip::Pack(zip::kCentralSignature, uint16_t{20}) + kind + sizes +
        zip::Pack(uint16_t{0}, uint16_t{0}, uint16_t{0}, uint32_t{0}, offset) +
        name;
  }
  const auto count = static_cast<uint16_t>(files.size());
  const auto offset = static_cast<uint32_t>(archive.size());
  return archive + directory +
         zip::Pack(zip::kEndSignature, uint16_t{0}, uint16_t{0}, count, count,
                   static_cast<uint32_t>(directory.size()), offset,
                   uint16_t{0});
}

inline void WriteZip(const std::string& path, const NamedBytes& files,
                     bool deflate = false) {
  GANDEM_CHECK_OK(WriteFile(path, ZipBytes(files, deflate)));
}

// Returns the tensors of tests/goldens/images.safetensors, written by
// tests/oracles/image_goldens.py.
inline std::map<std::string, NamedTensor> ImageGoldens() {
  const char* const source = std::getenv("GANDEM_SOURCE_DIR");
  auto tensors = ReadSafetensors(absl::StrCat(
      source == nullptr ? "." : source, "/tests/goldens/images.safetensors"));
  GANDEM_CHECK_OK(tensors.status());
  std::map<std::string, NamedTensor> goldens;
  for (NamedTensor& tensor : *tensors) {
    const std::string name = tensor.name;
    goldens.emplace(name, std::move(tensor));
  }
  return goldens;
}

inline PixelImage GoldenImage(const NamedTensor& tensor) {
  const auto* const bytes =
      reinterpret_cast<const uint8_t*>(tensor.bytes.data());
  return {.channels = tensor.shape[2],
          .height = tensor.shape[0],
          .width = tensor.shape[1],
          .pixels = {bytes, bytes + tensor.bytes.size()}};
}

// Images in memory, of any shapes; image i has label i.
class FakeStore : public ImageStore {
 public:
  explicit FakeStore(std::vector<PixelImage> images, SourceInfo info = {})
      : ImageStore(Filled(std::move(info), std::ssize(images))),
        images_(std::move(images)) {}

  std::string NameOf(int64_t index) const override {
    return absl::StrCat("fake ", index);
  }
  absl::StatusOr<std::string> Fetch(int64_t /*index*/) const override {
    return "";
  }
  absl::StatusOr<DecodedImage> Decode(
      int64_t index, absl::string_view /*stored*/) const override {
    if (images_[index].pixels.empty()) return absl::DataLossError("bad pixel");
    return DecodedImage{.pixels = images_[index],
                        .kind = {.format = "fake", .color = "RGB"}};
  }
  absl::StatusOr<std::string> ContentHash() const override { return "fake"; }

 private:
  static SourceInfo Filled(SourceInfo info, int64_t size) {
    info.kind = "a fake";
    if (size > 0) info.size = size;
    for (int64_t i = 0; i < size; ++i) info.labels.push_back(i);
    return info;
  }

  const std::vector<PixelImage> images_;
};

}  // namespace gandem::testing
