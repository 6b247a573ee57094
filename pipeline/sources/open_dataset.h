// SPDX-License-Identifier: Apache-2.0
//
// The dataset that a config asks for: source, fitting, pairs.
//
// Owner: the caller shares it. Thread safety: see dataset.h.
// Errors: those of OpenSource, FittedImages and JoinPairs, with the name of the
// field whose file is at fault, and
//   INVALID_ARGUMENT  labels that data.num_classes has no room for, or none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/dataset.h"
#include "pipeline/image_store.h"

namespace gandem {

class DataConfig;

// Data that a config names, opened once. Sizes, classes, channels and the
// description of the images come from here, and so does the dataset that
// networks see.
struct OpenedData {
  // The images of data.source or data.idx_images as they are stored, without
  // those that data.exclude names.
  std::shared_ptr<const ImageStore> whole = nullptr;
  // The same images. Of pairs side by side, the halves to generate.
  std::shared_ptr<const ImageStore> images = nullptr;
  std::vector<int64_t> left_out =
      {};  // places of the images that data.exclude names
};

//   FAILED_PRECONDITION  the list is not that of data.exclude_sha256, or the
//                        images are not those of data.listing_sha256.
//   INVALID_ARGUMENT     it names what is not there, or more than
//                        data.max_excluded of the images.
absl::StatusOr<OpenedData> OpenData(const DataConfig& config);

// OpenedData::images.
absl::StatusOr<std::shared_ptr<const ImageStore>> OpenImages(
    const DataConfig& config);

// The images as networks see them; `opened` is of the same images.
absl::StatusOr<std::shared_ptr<const Dataset>> DatasetOf(
    const OpenedData& opened, const DataConfig& config);
absl::StatusOr<std::shared_ptr<const Dataset>> OpenDataset(
    const DataConfig& config);

struct DatasetLabels {
  std::vector<int64_t> labels = {};  // empty: it has none
  ImageUnits units = {};             // as Dataset::Units
};

// The labels of its images.
absl::StatusOr<DatasetLabels> ReadDatasetLabels(const DataConfig& config);

// Pairs for image translation: each image is followed by the input that it is
// made of, as further channels.
absl::StatusOr<std::shared_ptr<const Dataset>> PairsOf(
    const OpenedData& opened, const DataConfig& config);
absl::StatusOr<std::shared_ptr<const Dataset>> OpenPairs(
    const DataConfig& config);

// SHA-256 in hex of the images to translate: of the file data.idx_inputs, or of
// the images that stand for it (ImageStore::ContentHash).
absl::StatusOr<std::string> HashOfInputs(const DataConfig& config);

}  // namespace gandem
