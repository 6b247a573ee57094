// SPDX-License-Identifier: Apache-2.0
//
// Which parameters of a network RoleConfig.freeze and OptimizerConfig.group
// mean. A pattern is a name in which * stands for any text, dots included, and
// ? for one character.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace gandem {

bool MatchesPattern(absl::string_view pattern, absl::string_view name);

// RoleConfig.freeze
using FreezePatterns = std::span<const std::string>;

bool IsFrozen(FreezePatterns freeze, absl::string_view name);

// The factor of the first group that matches; 1 if none does.
double RateFactorOf(const OptimizerConfig& optimizer, absl::string_view name);

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
