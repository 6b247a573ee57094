// SPDX-License-Identifier: Apache-2.0
//
// Lookahead (Zhang et al. 2019, algorithm 1) around any rule: after every
// `period` updates of the inner rule the slow weights s move towards the
// parameters w, s += rate * (w - s), and w becomes s. The inner rule keeps its
// state. It damps the rotation of a game (Chavdarova et al. 2021).
//
// State: "slow.<parameter>", and what the inner rule has.
//
// Thread safety, errors: see update_rule.h.
#pragma once

#include <cstdint>
#include <memory>

#include "training/optimizers/rules/update_rule.h"

namespace gandem {

struct LookaheadOptions {
  int64_t period = 5;  // k of the paper
  double rate = 0.5;   // alpha of the paper
};

// Both rules are of `parameters`.
std::unique_ptr<UpdateRule> MakeLookahead(const LookaheadOptions& options,
                                          std::unique_ptr<UpdateRule> inner,
                                          const TensorsByName& parameters);

}  // namespace gandem
