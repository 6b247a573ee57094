// SPDX-License-Identifier: Apache-2.0
//
// Asks a running `gandem train` how far it is.
//
// Thread safety: any thread.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "proto/control.pb.h"

namespace gandem {

// UNAVAILABLE, DEADLINE_EXCEEDED: nobody answers at `address`.
absl::StatusOr<StatusReply> QueryStatus(absl::string_view address,
                                        absl::Time deadline);

}  // namespace gandem
