// SPDX-License-Identifier: Apache-2.0
//
// Opens the dataset of a config: source, fitting, pairs.
//
// Owner: shared by the caller. Thread safety: see dataset.h. Errors: those of
// OpenSource, FittedImages and JoinPairs, with the config field at fault, and
//   INVALID_ARGUMENT  missing labels, or labels beyond data.num_classes.
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

// Images of a config, opened once. Source of sizes, classes, channels,
// descriptions and the dataset for networks.
struct OpenedData {
  // Images of data.source or data.idx_images without data.exclude.
  std::shared_ptr<const ImageStore> whole = nullptr;
  // As `whole`; for side-by-side pairs, the halves to generate.
  std::shared_ptr<const ImageStore> images = nullptr;
  // Indices of the images in data.exclude.
  std::vector<int64_t> left_out = {};
};

//   FAILED_PRECONDITION  the exclude list does not match data.exclude_sha256,
//                        or the images do not match data.listing_sha256.
//   INVALID_ARGUMENT     the list names unknown images, or more than
//                        data.max_excluded of the images.
absl::StatusOr<OpenedData> OpenData(const DataConfig& config);

// Returns OpenedData::images.
absl::StatusOr<std::shared_ptr<const ImageStore>> OpenImages(
    const DataConfig& config);

// Makes the dataset for networks; `opened` must be of `config`.
absl::StatusOr<std::shared_ptr<const Dataset>> DatasetOf(
    const OpenedData& opened, const DataConfig& config);
absl::StatusOr<std::shared_ptr<const Dataset>> OpenDataset(
    const DataConfig& config);

struct DatasetLabels {
  std::vector<int64_t> labels = {};  // empty: none
  ImageUnits units = {};             // as Dataset::Units
};

absl::StatusOr<DatasetLabels> ReadDatasetLabels(const DataConfig& config);

// Makes pairs for image translation: each image, then its input's channels.
absl::StatusOr<std::shared_ptr<const Dataset>> PairsOf(
    const OpenedData& opened, const DataConfig& config);
absl::StatusOr<std::shared_ptr<const Dataset>> OpenPairs(
    const DataConfig& config);

// Hashes the input images for translation: SHA-256 in hex of the file
// data.idx_inputs or else the ContentHash of the store.
absl::StatusOr<std::string> HashOfInputs(const DataConfig& config);

}  // namespace gandem
