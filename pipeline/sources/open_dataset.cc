// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/open_dataset.h"

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "common/status.h"
#include "pipeline/sources/idx_dataset.h"
#include "pipeline/sources/image_sources.h"
#include "pipeline/transforms.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

// `field` of the config names the images.
absl::StatusOr<std::unique_ptr<Dataset>> OpenFitted(const DataConfig& config,
                                                    absl::string_view field,
                                                    const std::string& images,
                                                    const std::string& labels) {
  // Read twice, so that what is wrong with them has their field's name.
  if (!labels.empty()) {
    const auto read = ReadIdxLabels(labels, config.num_classes());
    GANDEM_RETURN_IF_ERROR(Annotate(read.status(), "data.idx_labels"));
  }
  absl::StatusOr<std::unique_ptr<Dataset>> dataset =
      OpenSource(SourceUse::kTrain, {.path = images,
                                     .labels_path = labels,
                                     .max_images = config.max_images(),
                                     .num_classes = config.num_classes()});
  if (!dataset.ok()) return Annotate(dataset.status(), field);
  return config.fit() == PAD
             ? PadTo(*std::move(dataset), config.image_size())
             : ResizeTo(*std::move(dataset), config.image_size());
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Dataset>> OpenDataset(
    const DataConfig& config) {
  GANDEM_ASSIGN_OR_RETURN(std::unique_ptr<Dataset> dataset,
                          OpenFitted(config, "data.idx_images",
                                     config.idx_images(), config.idx_labels()));
  return std::shared_ptr<const Dataset>(std::move(dataset));
}

absl::StatusOr<std::vector<uint8_t>> ReadDatasetLabels(
    const DataConfig& config) {
  if (config.idx_labels().empty()) return std::vector<uint8_t>();
  GANDEM_ASSIGN_OR_RETURN(
      std::vector<uint8_t> labels,
      ReadIdxLabels(config.idx_labels(), config.num_classes()));
  const auto limit = static_cast<size_t>(config.max_images());
  if (limit > 0 && limit < labels.size()) labels.resize(limit);
  return labels;
}

absl::StatusOr<std::shared_ptr<const Dataset>> OpenPairs(
    const DataConfig& config) {
  GANDEM_ASSIGN_OR_RETURN(std::unique_ptr<Dataset> images,
                          OpenFitted(config, "data.idx_images",
                                     config.idx_images(), config.idx_labels()));
  GANDEM_ASSIGN_OR_RETURN(
      std::unique_ptr<Dataset> inputs,
      OpenFitted(config, "data.idx_inputs", config.idx_inputs(), ""));
  absl::StatusOr<std::unique_ptr<Dataset>> pairs =
      JoinPairs(std::move(images), std::move(inputs));
  if (!pairs.ok()) {
    return Annotate(pairs.status(), "data.idx_images and data.idx_inputs");
  }
  return std::shared_ptr<const Dataset>(*std::move(pairs));
}

}  // namespace gandem
