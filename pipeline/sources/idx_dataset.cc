// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/idx_dataset.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"
#include "pipeline/formats/idx_reader.h"

namespace gandem {
namespace {

// b / 127.5 - 1, what exchange/encoding.h makes of a byte.
constexpr std::array<float, 256> MakeValueOfByte() {
  std::array<float, 256> values{};
  for (int b = 0; b < 256; ++b) {
    values[b] = static_cast<float>(b / 127.5 - 1.0);
  }
  return values;
}
constexpr std::array<float, 256> kValueOfByte = MakeValueOfByte();

absl::Status CheckLabels(const std::vector<uint8_t>& labels,
                         int64_t num_classes, const std::string& path) {
  if (num_classes == 0) return absl::OkStatus();
  const auto wrong = std::ranges::find_if(
      labels, [&](uint8_t label) { return label >= num_classes; });
  if (wrong == labels.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": image ", wrong - labels.begin(), " has label ",
                   int{*wrong}, ", data.num_classes is ", num_classes,
                   ": set it to the number of classes of the file"));
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> ReadIdxLabels(const std::string& path,
                                                   int64_t num_classes) {
  GANDEM_ASSIGN_OR_RETURN(IdxArray labels, ReadIdx(path, /*num_dimensions=*/1));
  GANDEM_RETURN_IF_ERROR(CheckLabels(labels.values, num_classes, path));
  return std::move(labels.values);
}

absl::StatusOr<std::unique_ptr<Dataset>> IdxDataset::Open(
    const std::string& images_path, const std::string& labels_path,
    int64_t max_images, int64_t num_classes) {
  GANDEM_ASSIGN_OR_RETURN(IdxArray images,
                          ReadIdx(images_path, /*num_dimensions=*/3));
  std::vector<uint8_t> labels;
  if (!labels_path.empty()) {
    GANDEM_ASSIGN_OR_RETURN(labels, ReadIdxLabels(labels_path, num_classes));
    if (std::ssize(labels) != images.shape[0]) {
      return absl::InvalidArgumentError(absl::StrCat(
          labels_path, ": expected one label for each of the ", images.shape[0],
          " images of ", images_path, ", found ", labels.size()));
    }
  }
  const ImageShape shape = {
      .channels = 1, .height = images.shape[1], .width = images.shape[2]};
  int64_t size = images.shape[0];
  if (max_images > 0 && max_images < size) {
    size = max_images;
    images.values.resize(size * shape.NumValues());
    images.values.shrink_to_fit();
  }
  return std::unique_ptr<Dataset>(
      new IdxDataset(size, shape, std::move(images.values), std::move(labels)));
}

IdxDataset::IdxDataset(int64_t size, ImageShape shape,
                       std::vector<uint8_t> pixels, std::vector<uint8_t> labels)
    : size_(size),
      shape_(shape),
      pixels_(std::move(pixels)),
      labels_(std::move(labels)) {}

absl::StatusOr<int64_t> IdxDataset::Read(int64_t index,
                                         std::span<float> out) const {
  const int64_t num_values = shape_.NumValues();
  GANDEM_CHECK(index >= 0 && index < size_);
  GANDEM_CHECK(static_cast<int64_t>(out.size()) == num_values);
  const auto pixels =
      std::span(pixels_).subspan(index * num_values, num_values);
  std::transform(pixels.begin(), pixels.end(), out.begin(),
                 [](uint8_t b) { return kValueOfByte[b]; });
  return labels_.empty() ? kNoLabel : int64_t{labels_[index]};
}

}  // namespace gandem
