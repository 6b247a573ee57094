// SPDX-License-Identifier: Apache-2.0
//
// Optimism around any rule: the update is u_t + optimism * (u_t - u_{t-1}),
// where u is the update of the inner rule and u_0 = 0. With Adam inside and
// optimism 1 this is Optimistic Adam (Daskalakis et al. 2018, algorithm 1). It
// takes out the rotation of a two-player game, and with it the momentum that a
// lag adds (design.md section 4).
//
// State: "previous_update.<parameter>", and what the inner rule has.
//
// Thread safety, errors: see update_rule.h.
#pragma once

#include <memory>

#include "training/optimizers/rules/update_rule.h"

namespace gandem {

// Both rules are of `parameters`.
std::unique_ptr<UpdateRule> MakeOptimistic(double optimism,
                                           std::unique_ptr<UpdateRule> inner,
                                           const TensorsByName& parameters);

}  // namespace gandem
