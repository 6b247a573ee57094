// SPDX-License-Identifier: Apache-2.0
#include "pipeline/open_dataset.h"

#include <utility>

#include "common/status.h"
#include "pipeline/idx_dataset.h"
#include "pipeline/transforms.h"
#include "proto/config.pb.h"

namespace gandem {

absl::StatusOr<std::shared_ptr<const Dataset>> OpenDataset(
    const DataConfig& config) {
  GANDEM_ASSIGN_OR_RETURN(
      std::unique_ptr<Dataset> dataset,
      IdxDataset::Open(config.idx_images(), config.idx_labels(),
                       config.max_images(), config.num_classes()));
  if (config.fit() == PAD) {
    GANDEM_ASSIGN_OR_RETURN(dataset,
                            PadTo(std::move(dataset), config.image_size()));
  } else {
    GANDEM_ASSIGN_OR_RETURN(dataset,
                            ResizeTo(std::move(dataset), config.image_size()));
  }
  return std::shared_ptr<const Dataset>(std::move(dataset));
}

}  // namespace gandem
