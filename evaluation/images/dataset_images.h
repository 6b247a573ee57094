// SPDX-License-Identifier: Apache-2.0
//
// The real images that a run trains on, or any others that a DataConfig names.
//
// Owner, thread safety, errors: see image_set.h.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "evaluation/images/image_set.h"
#include "pipeline/dataset.h"
#include "proto/config.pb.h"

namespace gandem {

class DatasetImages : public ImageSet {
 public:
  // Errors of OpenDataset.
  static absl::StatusOr<std::unique_ptr<ImageSet>> Open(
      const DataConfig& config);

  int64_t size() const override { return dataset_->size(); }
  ImageShape shape() const override { return dataset_->shape(); }
  absl::StatusOr<at::Tensor> ReadLabels(IndexRange range) override;
  absl::StatusOr<ImagesCard> Describe() const override;

 protected:
  absl::StatusOr<at::Tensor> ReadImages(IndexRange range) override;

 private:
  DatasetImages(const DataConfig& config,
                std::shared_ptr<const Dataset> dataset)
      : config_(config), dataset_(std::move(dataset)) {}

  const DataConfig config_;
  const std::shared_ptr<const Dataset> dataset_;
};

}  // namespace gandem
