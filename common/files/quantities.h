// SPDX-License-Identifier: Apache-2.0
//
// Sizes, counts and speeds as people write them: "40GiB", "10k", "25Gbit,20ms".
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

// A number and B, KiB, MiB, GiB, TiB, kB, MB, GB or TB. `name` is for messages.
//   INVALID_ARGUMENT  it is none, or not in (0, 1 PiB].
absl::StatusOr<int64_t> ParseBytes(absl::string_view name,
                                   absl::string_view text);

// A number and k, M, G or T (powers of 1000), rounded; nothing for any other
// text, or where it is not in [1, 10^15].
std::optional<int64_t> ParseCount(absl::string_view text);

// "25Gbit" (a second; Mbit, Kbit, Tbit) or "25Gbit,20ms" (s, ms, us) with the
// latency of a message.
//   INVALID_ARGUMENT  it is none, or the speed is not above 0.
absl::StatusOr<Link> ParseLink(absl::string_view name, absl::string_view text);

// "1.5 GiB"
std::string BytesText(int64_t bytes);

// "1.2", "120", "0.034": three digits.
std::string NumberText(double number);

// At most three digits and a letter: "12.5K", "3M", "0.25".
std::string ShortNumber(double value);

}  // namespace gandem
