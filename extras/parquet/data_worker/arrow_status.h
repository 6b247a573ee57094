// SPDX-License-Identifier: Apache-2.0
//
// Arrow's Status as ours.
//
// Thread safety: pure functions.
#pragma once

#include <arrow/status.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace gandem {

// DATA_LOSS of a file that cannot be read.
inline absl::Status Damaged(absl::string_view why) {
  return absl::DataLossError(
      absl::StrCat(why, " (get a fresh copy of the file)"));
}

// INVALID_ARGUMENT for what Arrow does not implement, RESOURCE_EXHAUSTED for
// memory, DATA_LOSS for everything else: it is the file's fault.
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
