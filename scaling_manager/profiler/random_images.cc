// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/random_images.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/status.h"
#include "pipeline/formats/npz.h"

namespace gandem {
namespace {

// Bytes of random images, which each worker holds in memory (chosen small).
constexpr int64_t kRandomBytes = int64_t{16} << 20;
constexpr int64_t kCifarRecordPixels = 3 * 32 * 32;
constexpr int64_t kMostCifarLabels = 100;

int64_t NumImages(int64_t bytes_per_image) {
  return std::clamp<int64_t>(kRandomBytes / bytes_per_image, 16, 1024);
}

std::string RandomBytes(int64_t count, std::mt19937& random) {
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

void AppendBigEndian(uint32_t number, std::string& text) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    text.push_back(static_cast<char>(number >> shift));
  }
}

// Returns a file in MNIST's IDX format: a magic number with the number of
// dimensions, the dimensions, and the bytes.
std::string IdxFile(std::span<const int64_t> shape, absl::string_view bytes) {
  std::string file;
  AppendBigEndian(0x0800 | static_cast<uint32_t>(shape.size()), file);
  for (const int64_t size : shape) {
    AppendBigEndian(static_cast<uint32_t>(size), file);
  }
  file.append(bytes.data(), bytes.size());
  return file;
}

absl::Status WriteIdx(const DataConfig& recipe, const std::string& folder,
                      DataConfig& data) {
  std::mt19937 random(1);
  const int64_t side = recipe.image_size();
  const int64_t count = NumImages(side * side);
  const std::vector<int64_t> shape = {count, side, side};
  const auto write = [&](const char* name) -> absl::StatusOr<std::string> {
    const std::string path = absl::StrCat(folder, "/", name);
    GANDEM_RETURN_IF_ERROR(WriteFile(
        path, IdxFile(shape, RandomBytes(count * side * side, random))));
    return path;
  };
  GANDEM_ASSIGN_OR_RETURN(*data.mutable_idx_images(), write("images-idx3"));
  if (HasPairs(recipe)) {
    GANDEM_ASSIGN_OR_RETURN(*data.mutable_idx_inputs(), write("inputs-idx3"));
  }
  if (recipe.num_classes() == 0) return absl::OkStatus();
  std::string labels;
  const int64_t classes = std::min<int64_t>(recipe.num_classes(), 256);
  for (int64_t i = 0; i < count; ++i) {
    labels.push_back(static_cast<char>(i % classes));
  }
  data.set_idx_labels(folder + "/labels-idx1");
  return WriteFile(data.idx_labels(),
                   IdxFile(std::vector<int64_t>{count}, labels));
}

absl::Status WriteNpz(const std::string& path, int64_t side, uint32_t seed) {
  std::mt19937 random(seed);
  const int64_t count = NumImages(3 * side * side);
  const std::string bytes = RandomBytes(count * 3 * side * side, random);
  GANDEM_ASSIGN_OR_RETURN(NpzWriter writer, NpzWriter::Create(path));
  GANDEM_RETURN_IF_ERROR(writer.Begin(
      "arr_0", DType::kU8, std::vector<int64_t>{count, side, side, 3}));
  GANDEM_RETURN_IF_ERROR(writer.Append(std::as_bytes(std::span(bytes))));
  return writer.Finish();
}

// Writes the binary format of CIFAR-100: two labels before each image.
absl::Status WriteCifar(const std::string& folder, int64_t num_classes) {
  std::mt19937 random(1);
  const int64_t classes = std::min(num_classes, kMostCifarLabels);
  std::string file;
  for (int64_t i = 0; i < NumImages(kCifarRecordPixels); ++i) {
    file.push_back('\0');
    file.push_back(static_cast<char>(i % classes));
    file.append(RandomBytes(kCifarRecordPixels, random));
  }
  GANDEM_RETURN_IF_ERROR(CreateDirectories(folder));
  return WriteFile(folder + "/train.bin", file);
}

absl::Status WriteColored(const DataConfig& recipe, const std::string& folder,
                          DataConfig& data) {
  data.clear_listing_sha256();
  if (recipe.num_classes() > 0) {
    data.set_source(folder + "/cifar");
    return WriteCifar(data.source(), recipe.num_classes());
  }
  data.set_source(folder + "/images.npz");
  GANDEM_RETURN_IF_ERROR(
      WriteNpz(data.source(), recipe.image_size(), /*seed=*/1));
  if (!HasPairs(recipe)) return absl::OkStatus();
  data.set_inputs(folder + "/inputs.npz");
  return WriteNpz(data.inputs(), recipe.image_size(), /*seed=*/2);
}

}  // namespace

absl::StatusOr<DataConfig> WriteRandomImages(const DataConfig& recipe,
                                             const std::string& folder) {
  DataConfig data;
  data.set_image_size(recipe.image_size());
  data.set_fit(RESIZE);
  data.set_crop(DataConfig::NONE);
  data.set_resize(DataConfig::AREA);
  data.set_num_classes(recipe.num_classes());
  data.set_generated_labels(recipe.generated_labels());
  data.set_prefetch_batches(recipe.prefetch_batches());
  data.set_idx_images("");
  data.set_idx_labels("");
  const int64_t channels = DataShapeOf(recipe).image.channels;
  data.set_channels(channels);
  GANDEM_RETURN_IF_ERROR(channels == 1 ? WriteIdx(recipe, folder, data)
                                       : WriteColored(recipe, folder, data));
  return data;
}

}  // namespace gandem
