// SPDX-License-Identifier: Apache-2.0
//
// What tests of waiting calls use: a deadline that a healthy machine never
// reaches, and short names of the codes that they expect.
#pragma once

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace gandem {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;

inline absl::Time Soon() { return absl::Now() + absl::Seconds(60); }

}  // namespace gandem
