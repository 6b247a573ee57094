// SPDX-License-Identifier: Apache-2.0
//
// Finds out why nobody answers at an address. gRPC retries silently, even if
// the reason is a mistake such as --insecure_network on one side only.
//
// Thread safety: any thread.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/security/credentials.h"

namespace gandem {

// Time limit of the search, even after the call's deadline.
inline constexpr absl::Duration kLookForReason = absl::Milliseconds(1500);

// Connects and reads until `deadline` (MonotonicNow()) at most. Returns one
// line without a full stop.
std::string WhyNoAnswer(absl::string_view address,
                        const Credentials& credentials, absl::Time deadline);

// Adds the reason to `failed` if it is UNAVAILABLE or DEADLINE_EXCEEDED.
absl::Status WithReason(absl::Status failed, absl::string_view address,
                        const Credentials& credentials);

}  // namespace gandem
