// SPDX-License-Identifier: Apache-2.0
//
// Stored images: those that a run trains on, or any others that a DataConfig
// names, and those of files that are judged as they are.
//
// Owner, thread safety, errors: see image_set.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "evaluation/images/image_set.h"
#include "pipeline/dataset.h"
#include "proto/config.pb.h"

namespace gandem {

class DatasetImages : public ImageSet {
 public:
  // Fitted as the config says. Errors of OpenDataset.
  static absl::StatusOr<std::unique_ptr<ImageSet>> Open(
      const DataConfig& config);

  // As they are stored. Errors of OpenSource, and
  //   NOT_FOUND  there is no such file or folder.
  static absl::StatusOr<std::unique_ptr<ImageSet>> OpenFiles(
      const std::string& path);

  int64_t size() const override { return dataset_->size(); }
  ImageShape shape() const override { return dataset_->shape(); }
  absl::StatusOr<at::Tensor> ReadLabels(IndexRange range) override;
  absl::StatusOr<ImagesCard> Describe() const override;

 protected:
  absl::StatusOr<at::Tensor> ReadImages(IndexRange range) override;

 private:
  DatasetImages(std::shared_ptr<const Dataset> dataset,
                std::optional<DataConfig> fitted)
      : dataset_(std::move(dataset)), fitted_(std::move(fitted)) {}

  // Never change after construction.
  const std::shared_ptr<const Dataset> dataset_;
  const std::optional<DataConfig> fitted_;  // not set: images of files
};

}  // namespace gandem
