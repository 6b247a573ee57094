// SPDX-License-Identifier: Apache-2.0
//
// Helpers for tests of waiting calls: a deadline that a healthy machine never
// reaches, and short names of the expected codes.
#pragma once

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace gandem {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;

inline absl::Time Soon() { return absl::Now() + absl::Seconds(60); }

}  // namespace gandem
