// SPDX-License-Identifier: Apache-2.0
//
// Matches parameter names with the patterns of RoleConfig.freeze and
// OptimizerConfig.group. Patterns follow fnmatch(3): * is any text, including
// dots, ? is one character, and [a-c] is one character of a set.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace gandem {

bool MatchesPattern(const std::string& pattern, const std::string& name);

using FreezePatterns = std::span<const std::string>;

bool IsFrozen(FreezePatterns freeze, const std::string& name);

// Returns the factor of the first matching group, or 1 without a match.
double RateFactorOf(const OptimizerConfig& optimizer, const std::string& name);

// Checks a role's patterns against the parameter names of its network.
//   INVALID_ARGUMENT  lists patterns without a match, with the nearest names,
//                     and groups whose parameters are all frozen or in earlier
//                     groups; or no parameter is left to train
absl::Status CheckPatterns(const std::string& role, FreezePatterns freeze,
                           const OptimizerConfig& optimizer,
                           std::span<const std::string> names);

}  // namespace gandem
