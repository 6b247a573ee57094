// SPDX-License-Identifier: Apache-2.0
//
// Which parameters of a network RoleConfig.freeze and OptimizerConfig.group
// mean. A pattern is one of fnmatch(3): * stands for any text, dots included, ?
// for one character, and [a-c] for one of a few.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace gandem {

bool MatchesPattern(const std::string& pattern, const std::string& name);

// RoleConfig.freeze
using FreezePatterns = std::span<const std::string>;

bool IsFrozen(FreezePatterns freeze, const std::string& name);

// The factor of the first group that matches; 1 if none does.
double RateFactorOf(const OptimizerConfig& optimizer, const std::string& name);

// Whether the patterns of the role that messages call `role` suit a network
// with parameters of these names.
//   INVALID_ARGUMENT  lists every pattern that matches nothing, with the
//   nearest
//                     names; every group of which frozen parameters and earlier
//                     groups leave nothing; or nothing is left to train.
absl::Status CheckPatterns(const std::string& role, FreezePatterns freeze,
                           const OptimizerConfig& optimizer,
                           std::span<const std::string> names);

}  // namespace gandem
