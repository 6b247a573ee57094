// SPDX-License-Identifier: Apache-2.0
//
// Real transfers between two processes of a host: through the exchange's
// service or a ring of two, checksums included. Both processes are asked for
// the same at the same time.
//
// Thread safety: any thread. Errors: INVALID_ARGUMENT for what cannot be
// transferred so; those of the exchange and of the collective;
// DEADLINE_EXCEEDED when the other process does not come.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/measure.pb.h"

namespace gandem {

// Checks that the request is possible; MeasureTransfer does the same check.
absl::Status CheckTransfer(const TransferRequest& request);

absl::StatusOr<TransferReply> MeasureTransfer(const TransferRequest& request,
                                              absl::Time deadline);

}  // namespace gandem
