// SPDX-License-Identifier: Apache-2.0
//
// Update rules that wrap another rule.
//
// Thread safety, errors: see update_rule.h.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "proto/config.pb.h"
#include "training/optimizers/rules/update_rule.h"

namespace gandem {

// Optimism: the update is u_t + optimism * (u_t - u_{t-1}), where u is the
// inner rule's update and u_0 = 0. With Adam and optimism 1 this is Optimistic
// Adam (Daskalakis et al. 2018, algorithm 1). Cancels the rotation of a
// two-player game and the momentum added by a lag (design.md section 4).
//
// `inner` has the same parameters. State: "previous_update.<parameter>",
// inner's.
std::unique_ptr<UpdateRule> MakeOptimistic(double optimism,
                                           std::unique_ptr<UpdateRule> inner,
                                           const TensorsByName& parameters);

// Lookahead (Zhang et al. 2019, algorithm 1): after every `period` updates of
// the inner rule the slow weights s and the parameters w become s + rate * (w -
// s). Damps the rotation of a game (Chavdarova et al. 2021).
//
// `inner` has the same parameters. State: "slow.<parameter>" and inner's.
std::unique_ptr<UpdateRule> MakeLookahead(const LookaheadConfig& config,
                                          std::unique_ptr<UpdateRule> inner,
                                          const TensorsByName& parameters);

struct RateGroup {
  double factor = 1;
  std::vector<size_t> members = {};  // indices of the optimizer's parameters
  std::unique_ptr<UpdateRule> rule;  // for the members, in this order
};

// Applies each group's rule to its members, like PyTorch's parameter groups.
// Each parameter belongs to one group. State: the states of the groups' rules.
std::unique_ptr<UpdateRule> MakeGrouped(std::vector<RateGroup> groups);

}  // namespace gandem
