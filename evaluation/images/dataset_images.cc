// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/dataset_images.h"

#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/files/sha256.h"
#include "common/status.h"
#include "pipeline/sources/open_dataset.h"

namespace gandem {
namespace {

// As the usual files are named; "t10k" is MNIST's test set.
std::string SplitOf(absl::string_view path) {
  const std::string name =
      absl::AsciiStrToLower(path.substr(path.find_last_of('/') + 1));
  if (absl::StrContains(name, "train")) return "train";
  if (absl::StrContains(name, "t10k") || absl::StrContains(name, "test")) {
    return "test";
  }
  return absl::StrContains(name, "val") ? "validation" : "";
}

}  // namespace

absl::StatusOr<std::unique_ptr<ImageSet>> DatasetImages::Open(
    const DataConfig& config) {
  GANDEM_ASSIGN_OR_RETURN(std::shared_ptr<const Dataset> dataset,
                          OpenDataset(config));
  return std::unique_ptr<ImageSet>(
      new DatasetImages(config, std::move(dataset)));
}

absl::StatusOr<at::Tensor> DatasetImages::ReadImages(IndexRange range) {
  const auto [channels, height, width] = shape();
  const at::Tensor images_NCHW =
      torch::empty({range.count, channels, height, width});
  float* image = images_NCHW.mutable_data_ptr<float>();
  const auto size = static_cast<size_t>(shape().NumValues());
  for (int64_t i = range.first; i < range.end(); ++i, image += size) {
    GANDEM_RETURN_IF_ERROR(dataset_->Read(i, {image, size}));
  }
  return QuantizeImages(images_NCHW);
}

absl::StatusOr<at::Tensor> DatasetImages::ReadLabels(IndexRange range) {
  if (config_.idx_labels().empty()) return ImageSet::ReadLabels(range);
  GANDEM_ASSIGN_OR_RETURN(const std::vector<uint8_t> labels,
                          ReadDatasetLabels(config_));
  const at::Tensor labels_N = torch::empty({range.count}, at::kLong);
  std::copy_n(labels.begin() + range.first, range.count,
              labels_N.mutable_data_ptr<int64_t>());
  return labels_N;
}

absl::StatusOr<ImagesCard> DatasetImages::Describe() const {
  GANDEM_ASSIGN_OR_RETURN(const std::string file_hash,
                          Sha256OfFile(config_.idx_images()));
  ImagesCard card;
  card.set_kind("dataset");
  card.set_split(SplitOf(config_.idx_images()));
  card.set_channels(shape().channels);
  card.set_height(shape().height);
  card.set_width(shape().width);
  card.set_quantization(kQuantization);
  card.set_fit(absl::StrCat(absl::AsciiStrToLower(Fit_Name(config_.fit())),
                            " to ", config_.image_size(), " x ",
                            config_.image_size()));
  Sha256 hash;
  hash.Update(absl::StrCat("dataset ", file_hash, " ", card.fit(), " ",
                           config_.max_images()));
  card.set_sha256(hash.Finish());
  return card;
}

}  // namespace gandem
