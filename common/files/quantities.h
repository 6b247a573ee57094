// SPDX-License-Identifier: Apache-2.0
//
// Parses and formats sizes, counts and speeds: "40GiB", "10k", "25Gbit,20ms".
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/plan.pb.h"

namespace gandem {

// Parses a number with a unit from B to TiB or TB. `name`: for messages.
//   INVALID_ARGUMENT  not a size, or not in (0, 1 PiB]
absl::StatusOr<int64_t> ParseBytes(absl::string_view name,
                                   absl::string_view text);

// Parses a number with k, M, G or T (powers of 1000), rounded. Returns nullopt
// for other text and for numbers outside [1, 10^15].
std::optional<int64_t> ParseCount(absl::string_view text);

// Parses "25Gbit" (per second; Kbit, Mbit, Gbit, Tbit), optionally with the
// latency of a message (s, ms, us), as in "25Gbit,20ms".
//   INVALID_ARGUMENT  not a link, or a speed of 0
absl::StatusOr<Link> ParseLink(absl::string_view name, absl::string_view text);

// Returns for example "1.5 GiB".
std::string BytesText(int64_t bytes);

// Returns three digits: "1.2", "120", "0.034".
std::string NumberText(double number);

// Returns at most three digits and a unit letter: "12.5K", "3M", "0.25".
std::string ShortNumber(double value);

}  // namespace gandem
