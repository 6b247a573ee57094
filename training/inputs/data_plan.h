// SPDX-License-Identifier: Apache-2.0
//
// Configuration of a run's images.
//
// Owner: values; part of a RunPlan. Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "common/config/data_shape.h"
#include "common/config/run_config.h"
#include "proto/config.pb.h"

namespace gandem {

struct DataPlan {
  DataConfig files = {};
  DataShape shape = {};  // as the networks see them
  uint64_t seed = 0;     // for order and augmentation
  // Images per update of a role, over its whole fleet.
  int64_t generator_batch = 1;
  int64_t discriminator_batch = 1;

  bool has_pairs() const { return HasPairs(files); }
};

}  // namespace gandem
