// SPDX-License-Identifier: Apache-2.0
//
// The dataset of a worker, kept from one run epoch to the next: opening it
// again would take most of the time that a run needs to resume after a worker's
// death.
//
// Owner: the program. Thread safety: one thread; the dataset's see dataset.h.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/status.h"
#include "pipeline/dataset.h"
#include "pipeline/sources/open_dataset.h"
#include "proto/config.pb.h"
#include "training/inputs/data_plan.h"

namespace gandem {

class KeptDataset {
 public:
  // The one that was opened last if the plan asks for the same, else another.
  // Errors: those of pipeline/sources/open_dataset.h.
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(const DataPlan& plan) {
    std::string config = plan.files.SerializeAsString();
    if (dataset_ != nullptr && config == config_) return dataset_;
    dataset_.reset();  // before there are two in memory
    GANDEM_ASSIGN_OR_RETURN(dataset_, plan.has_pairs()
                                          ? OpenPairs(plan.files)
                                          : OpenDataset(plan.files));
    config_ = std::move(config);
    return dataset_;
  }

 private:
  std::string config_;  // config of the dataset
  std::shared_ptr<const Dataset> dataset_;
};

}  // namespace gandem
