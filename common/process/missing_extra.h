// SPDX-License-Identifier: Apache-2.0
//
// Error for input of an extra (extras/README.md) missing in this build.
//
// Thread safety: a pure function.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace gandem {

// Returns FAILED_PRECONDITION. `what` is a file, a field or an option.
inline absl::Status MissingExtraError(absl::string_view what,
                                      absl::string_view extra) {
  return absl::FailedPreconditionError(
      absl::StrCat(what, ": this gandem was built without the extra `", extra,
                   "`; run scripts/build.sh"));
}

}  // namespace gandem
