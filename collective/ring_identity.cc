// SPDX-License-Identifier: Apache-2.0
#include "collective/ring_identity.h"

#include "absl/strings/str_cat.h"

namespace gandem {

// Old senders are refused permanently. A newer sender may retry, because this
// rank is about to learn of the new membership.
absl::Status RingIdentity::CheckSender(const RingFrame& frame) const {
  const int size = static_cast<int>(incarnations.size());
  if (frame.rank >= size || frame.rank == rank) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rank ", frame.rank, " is no peer of rank ", rank, " of ", size));
  }
  if (frame.membership_epoch < membership_epoch) {
    return absl::AbortedError(
        absl::StrCat("membership epoch ", frame.membership_epoch, " of rank ",
                     frame.rank, " is over, this is ", membership_epoch));
  }
  if (frame.membership_epoch > membership_epoch) {
    return absl::UnavailableError(absl::StrCat(
        "rank ", rank, " is still in membership epoch ", membership_epoch));
  }
  // Does not reveal the correct incarnation to strangers.
  if (frame.incarnation != incarnations[frame.rank]) {
    return absl::AbortedError(absl::StrCat("another process is rank ",
                                           frame.rank, " of this membership"));
  }
  return absl::OkStatus();
}

// Codes of gRPC for broken connections, and of a peer that is behind.
bool IsWorthRetrying(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kInternal:
      return true;
    default:
      return false;
  }
}

}  // namespace gandem
