// SPDX-License-Identifier: Apache-2.0
//
// Measures real transfers between two processes of a host, by the exchange or a
// ring of two, with checksums. Both get the request at the same time.
//
// Thread safety: any thread. Errors: INVALID_ARGUMENT for an impossible
// request; those of the exchange and of the collective; DEADLINE_EXCEEDED if
// the other process does not take part.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/measure.pb.h"

namespace gandem {

// Checks that the request is possible. MeasureTransfer checks it, too.
absl::Status CheckTransfer(const TransferRequest& request);

absl::StatusOr<TransferReply> MeasureTransfer(const TransferRequest& request,
                                              absl::Time deadline);

}  // namespace gandem
