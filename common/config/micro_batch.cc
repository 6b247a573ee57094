// SPDX-License-Identifier: Apache-2.0
#include "common/config/micro_batch.h"

#include <algorithm>

#include "common/config/run_config.h"

namespace gandem {

int64_t MicroBatch(const RoleConfig& role) {
  if (role.micro_batch() != 0 || StepBatch(role) == role.batch_size()) {
    return role.micro_batch();
  }
  // The largest slice of a batch.
  const int64_t workers = std::max(role.workers(), 1);
  return role.batch_size() / workers + (role.batch_size() % workers > 0);
}

}  // namespace gandem
