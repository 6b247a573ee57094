// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/dataset_images.h"

#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/config/run_config.h"
#include "common/files/sha256.h"
#include "common/status.h"
#include "models/torch.h"
#include "pipeline/dataset.h"
#include "pipeline/sources/open_dataset.h"
#include "pipeline/sources/resolve_data.h"

namespace gandem {
namespace {

// Guesses the split from the file's name; "t10k" is MNIST's test set.
std::string SplitOf(absl::string_view path) {
  const std::string name =
      absl::AsciiStrToLower(path.substr(path.find_last_of('/') + 1));
  if (absl::StrContains(name, "train")) return "train";
  if (absl::StrContains(name, "t10k") || absl::StrContains(name, "test")) {
    return "test";
  }
  return absl::StrContains(name, "val") ? "validation" : "";
}

// "pad to 32 x 32", "resize to 32 x 32 (crop center, kernel bicubic)"
std::string FitText(const DataConfig& config) {
  const std::string text =
      absl::StrCat(absl::AsciiStrToLower(Fit_Name(config.fit())), " to ",
                   config.image_size(), " x ", config.image_size());
  // Evaluation takes the center in place of a random crop.
  const bool all = config.crop() == DataConfig::NONE;
  if (config.fit() == PAD || (all && config.resize() == DataConfig::AREA)) {
    return text;
  }
  return absl::StrCat(
      text, " (crop ", all ? "none" : "center", ", kernel ",
      absl::AsciiStrToLower(DataConfig::Kernel_Name(config.resize())), ")");
}

class DatasetImages : public ImageSet {
 public:
  DatasetImages(std::shared_ptr<const Dataset> dataset, DataConfig fitted)
      : dataset_(std::move(dataset)), fitted_(std::move(fitted)) {}

  int64_t size() const override { return dataset_->size(); }
  ImageShape shape() const override { return dataset_->shape(); }
  std::string NameOf(int64_t index) const override {
    return dataset_->NameOf(index);
  }

  absl::StatusOr<ImagesCard> Describe() const override {
    GANDEM_ASSIGN_OR_RETURN(const std::string content, dataset_->ContentHash());
    ImagesCard card;
    card.set_kind("dataset");
    card.set_channels(shape().channels);
    card.set_height(shape().height);
    card.set_width(shape().width);
    card.set_split(SplitOf(ImagesPath(fitted_)));
    card.set_quantization(kQuantization);
    card.set_fit(FitText(fitted_));
    Sha256 hash;
    hash.Update(absl::StrCat("dataset ", content, " ", card.fit(), " ",
                             fitted_.max_images()));
    card.set_sha256(hash.Finish());
    return card;
  }

 protected:
  absl::StatusOr<at::Tensor> ReadImages(IndexRange range) override {
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

 private:
  const std::shared_ptr<const Dataset> dataset_;
  const DataConfig fitted_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ImageSet>> OpenDatasetImages(
    const DataConfig& config) {
  GANDEM_ASSIGN_OR_RETURN(const OpenedData opened, OpenData(config));
  DataConfig resolved = config;
  GANDEM_RETURN_IF_ERROR(ResolveData(*opened.images, resolved));
  GANDEM_ASSIGN_OR_RETURN(std::shared_ptr<const Dataset> dataset,
                          DatasetOf(opened, resolved));
  return std::make_unique<DatasetImages>(std::move(dataset),
                                         std::move(resolved));
}

}  // namespace gandem
