// SPDX-License-Identifier: Apache-2.0
//
// Dataset of a worker, kept between run epochs, because opening it takes most
// of the time to resume after a worker's death.
//
// Owner: the program. Thread safety: one thread; datasets: see dataset.h.
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
  // Returns the open dataset if the plan is equal, otherwise opens another.
  // Errors: those of pipeline/sources/open_dataset.h.
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(const DataPlan& plan) {
    std::string config = plan.files.SerializeAsString();
    if (dataset_ != nullptr && config == config_) return dataset_;
    dataset_.reset();  // never holds two in memory
    GANDEM_ASSIGN_OR_RETURN(dataset_, plan.has_pairs()
                                          ? OpenPairs(plan.files)
                                          : OpenDataset(plan.files));
    config_ = std::move(config);
    return dataset_;
  }

 private:
  std::string config_;
  std::shared_ptr<const Dataset> dataset_;
};

}  // namespace gandem
