// SPDX-License-Identifier: Apache-2.0
//
// Which failures of a disk are worth another try.
// Owner: none. Thread safety: any thread.
#pragma once

#include "absl/status/status.h"

namespace gandem {

// A disk that is full, or read-only as one is whose mount was lost for a while.
inline bool DiskMayRecover(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsPermissionDenied(status);
}

}  // namespace gandem
