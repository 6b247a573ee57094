// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/idx_dataset.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/files/sha256.h"
#include "common/status.h"
#include "pipeline/formats/idx_reader.h"
#include "pipeline/sources/byte_values.h"

namespace gandem {
namespace {

class IdxDataset : public Dataset {
 public:
  IdxDataset(std::string path, int64_t size, ImageShape shape,
             std::vector<uint8_t> pixels, std::vector<uint8_t> labels)
      : path_(std::move(path)),
        size_(size),
        shape_(shape),
        pixels_(std::move(pixels)),
        labels_(std::move(labels)) {}

  int64_t size() const override { return size_; }
  ImageShape shape() const override { return shape_; }

  absl::StatusOr<int64_t> Read(int64_t index,
                               std::span<float> out) const override {
    const int64_t num_values = shape_.NumValues();
    GANDEM_CHECK(index >= 0 && index < size_);
    GANDEM_CHECK(std::ssize(out) == num_values);
    ValuesOfBytes(std::span(pixels_).subspan(index * num_values, num_values),
                  shape_, out);
    return labels_.empty() ? kNoLabel : int64_t{labels_[index]};
  }

  absl::StatusOr<std::string> ContentHash() const override {
    return Sha256OfFile(path_);
  }

 private:
  // Never change after construction.
  const std::string path_;
  const int64_t size_;
  const ImageShape shape_;
  const std::vector<uint8_t> pixels_;
  const std::vector<uint8_t> labels_;  // empty: none
};

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

absl::StatusOr<std::unique_ptr<Dataset>> OpenIdx(const SourceSpec& spec) {
  GANDEM_ASSIGN_OR_RETURN(IdxArray images,
                          ReadIdx(spec.path, /*num_dimensions=*/3));
  std::vector<uint8_t> labels;
  if (!spec.labels_path.empty()) {
    GANDEM_ASSIGN_OR_RETURN(labels,
                            ReadIdxLabels(spec.labels_path, spec.num_classes));
    if (std::ssize(labels) != images.shape[0]) {
      return absl::InvalidArgumentError(
          absl::StrCat(spec.labels_path,
                       ": expected one label for each of the ", images.shape[0],
                       " images of ", spec.path, ", found ", labels.size()));
    }
  }
  const ImageShape shape = {
      .channels = 1, .height = images.shape[1], .width = images.shape[2]};
  int64_t size = images.shape[0];
  if (spec.max_images > 0 && spec.max_images < size) {
    size = spec.max_images;
    images.values.resize(size * shape.NumValues());
    images.values.shrink_to_fit();
  }
  return std::make_unique<IdxDataset>(
      spec.path, size, shape, std::move(images.values), std::move(labels));
}

}  // namespace gandem
