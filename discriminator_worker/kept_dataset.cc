// SPDX-License-Identifier: Apache-2.0
#include "discriminator_worker/kept_dataset.h"

#include <utility>

#include "common/status.h"
#include "pipeline/sources/open_dataset.h"
#include "proto/config.pb.h"

namespace gandem {

absl::StatusOr<std::shared_ptr<const Dataset>> KeptDataset::Open(
    const DataPlan& plan) {
  std::string config = plan.files.SerializeAsString();
  if (dataset_ != nullptr && config == config_) return dataset_;
  dataset_.reset();  // before there are two in memory
  GANDEM_ASSIGN_OR_RETURN(dataset_, plan.has_pairs() ? OpenPairs(plan.files)
                                                     : OpenDataset(plan.files));
  config_ = std::move(config);
  return dataset_;
}

}  // namespace gandem
