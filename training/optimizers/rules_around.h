// SPDX-License-Identifier: Apache-2.0
//
// Rules around any other rule, which keeps its state.
//
// Thread safety, errors: see update_rule.h.
#pragma once

#include <memory>

#include "proto/config.pb.h"
#include "training/optimizers/rules/update_rule.h"

namespace gandem {

// Optimism: the update is u_t + optimism * (u_t - u_{t-1}), where u is the
// update of the inner rule and u_0 = 0. With Adam inside and optimism 1 this is
// Optimistic Adam (Daskalakis et al. 2018, algorithm 1). It takes out the
// rotation of a two-player game, and with it the momentum that a lag adds
// (design.md section 4).
//
// State: "previous_update.<parameter>", and what the inner rule has. Both rules
// are of `parameters`.
std::unique_ptr<UpdateRule> MakeOptimistic(double optimism,
                                           std::unique_ptr<UpdateRule> inner,
                                           const TensorsByName& parameters);

// Lookahead (Zhang et al. 2019, algorithm 1): after every `period` updates of
// the inner rule the slow weights s move towards the parameters w,
// s += rate * (w - s), and w becomes s. It damps the rotation of a game
// (Chavdarova et al. 2021).
//
// State: "slow.<parameter>", and what the inner rule has. Both rules are of
// `parameters`.
std::unique_ptr<UpdateRule> MakeLookahead(const LookaheadConfig& config,
                                          std::unique_ptr<UpdateRule> inner,
                                          const TensorsByName& parameters);

}  // namespace gandem
