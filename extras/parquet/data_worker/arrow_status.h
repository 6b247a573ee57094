// SPDX-License-Identifier: Apache-2.0
//
// Converts Arrow's Status to absl::Status.
//
// Thread safety: pure functions.
#pragma once

#include <arrow/status.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace gandem {

inline absl::Status Damaged(absl::string_view why) {
  return absl::DataLossError(
      absl::StrCat(why, " (get a fresh copy of the file)"));
}

// INVALID_ARGUMENT for features that Arrow does not implement,
// RESOURCE_EXHAUSTED for memory, otherwise DATA_LOSS: the file is at fault.
inline absl::Status FromArrow(const arrow::Status& status) {
  if (status.ok()) return absl::OkStatus();
  if (status.IsNotImplemented()) {
    return absl::InvalidArgumentError(status.message());
  }
  if (status.IsOutOfMemory() || status.IsCapacityError()) {
    return absl::ResourceExhaustedError(status.message());
  }
  return Damaged(status.message());
}

}  // namespace gandem
