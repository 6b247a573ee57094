// SPDX-License-Identifier: Apache-2.0
//
// Tells whether a failed read is caused by the image's content. Only such
// images may be left out of a run (data.exclude).
//
// Thread safety: pure functions.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/cord.h"

namespace gandem {

namespace unreadable_internal {
inline constexpr char kNotContent[] = "gandem/not-content";
}  // namespace unreadable_internal

// Marks an error of a network, server or other process as unrelated to the
// content, whatever its code.
inline absl::Status NotOfContent(absl::Status status) {
  if (!status.ok()) {
    status.SetPayload(unreadable_internal::kNotContent, absl::Cord("1"));
  }
  return status;
}

// Returns whether the content is at fault, so that every retry would fail, too.
inline bool IsUnreadable(const absl::Status& status) {
  return (absl::IsDataLoss(status) || absl::IsInvalidArgument(status)) &&
         !status.GetPayload(unreadable_internal::kNotContent).has_value();
}

}  // namespace gandem
