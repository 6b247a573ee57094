// SPDX-License-Identifier: Apache-2.0
//
// Trains recipes/fashion_mnist_sngan at width 8, colocated.
#pragma once

#include <cstdint>

#include "proto/config.pb.h"

namespace gandem::testing {

struct TrainRecipeOptions {
  RoleConfig::Precision precision = RoleConfig::FLOAT32;  // of both roles
  int64_t rounds = 0;
  int64_t last = 0;  // number of last rounds for the means
  int seed = 1;
};

struct RecipeLosses {
  double generator = 0;  // means over the last rounds
  double discriminator = 0;
};

// Expects that all losses are finite and that at most two updates of a role are
// skipped.
RecipeLosses TrainRecipe(const TrainRecipeOptions& options);

}  // namespace gandem::testing
