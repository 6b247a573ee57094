// SPDX-License-Identifier: Apache-2.0
//
// Whether a failed read says that an image's content is at fault: such images
// may be left out of a run (data.exclude), and only such.
//
// Thread safety: pure functions.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/cord.h"

namespace gandem {

namespace unreadable_internal {
inline constexpr char kNotContent[] = "gandem/not-content";
}  // namespace unreadable_internal

// Marks an error of a network, a server or another process, whatever its code
// is.
inline absl::Status NotOfContent(absl::Status status) {
  if (!status.ok()) {
    status.SetPayload(unreadable_internal::kNotContent, absl::Cord("1"));
  }
  return status;
}

// Whether the content is at fault, not a disk or a network: every try gives the
// same result.
inline bool IsUnreadable(const absl::Status& status) {
  return (absl::IsDataLoss(status) || absl::IsInvalidArgument(status)) &&
         !status.GetPayload(unreadable_internal::kNotContent).has_value();
}

}  // namespace gandem
