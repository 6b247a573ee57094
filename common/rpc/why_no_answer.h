// SPDX-License-Identifier: Apache-2.0
//
// Why nobody answers at an address, as far as a look at it tells. gRPC tries
// again for as long as it takes and says nothing, and some of the reasons are
// somebody's mistake, such as --insecure_network on one side only.
//
// Thread safety: any thread.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/security/credentials.h"

namespace gandem {

// Long enough for a host that is there, be it after the deadline of the call.
inline constexpr absl::Duration kLookForReason = absl::Milliseconds(1500);

// Connects, and listens for a moment; at most until `deadline`, a time of
// MonotonicNow(). One line without a full stop.
std::string WhyNoAnswer(absl::string_view address,
                        const Credentials& credentials, absl::Time deadline);

// `failed`, and that where it is UNAVAILABLE or DEADLINE_EXCEEDED.
absl::Status WithReason(absl::Status failed, absl::string_view address,
                        const Credentials& credentials);

}  // namespace gandem
