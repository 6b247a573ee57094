// SPDX-License-Identifier: Apache-2.0
//
// Gray images of an IDX pair, held in memory as bytes.
//
// Owner, thread safety: see dataset.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/dataset.h"

namespace gandem {

// Labels of an IDX file, one for each image. `num_classes` 0: any label. Errors
// of ReadIdx, and
//   INVALID_ARGUMENT  one is not below num_classes.
absl::StatusOr<std::vector<uint8_t>> ReadIdxLabels(const std::string& path,
                                                   int64_t num_classes);

class IdxDataset : public Dataset {
 public:
  // An empty `labels_path` means no labels. `max_images` 0: all, else the first
  // of the file at most that many. Errors of ReadIdx and ReadIdxLabels, and
  //   INVALID_ARGUMENT  the number of labels is not that of images.
  static absl::StatusOr<std::unique_ptr<Dataset>> Open(
      const std::string& images_path, const std::string& labels_path,
      int64_t max_images = 0, int64_t num_classes = 0);

  int64_t size() const override { return size_; }
  ImageShape shape() const override { return shape_; }
  absl::StatusOr<int64_t> Read(int64_t index,
                               std::span<float> out) const override;

 private:
  IdxDataset(int64_t size, ImageShape shape, std::vector<uint8_t> pixels,
             std::vector<uint8_t> labels);

  // Never change after construction.
  const int64_t size_;
  const ImageShape shape_;
  const std::vector<uint8_t> pixels_;
  const std::vector<uint8_t> labels_;  // empty: none
};

}  // namespace gandem
