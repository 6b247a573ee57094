// SPDX-License-Identifier: Apache-2.0
//
// What a build without an extra (extras/README.md) answers to a user who needs
// it.
//
// Thread safety: a pure function.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace gandem {

// FAILED_PRECONDITION. `what`: a file, a field or an option of the user.
inline absl::Status MissingExtraError(absl::string_view what,
                                      absl::string_view extra) {
  return absl::FailedPreconditionError(
      absl::StrCat(what, ": this gandem was built without the extra `", extra,
                   "`; run scripts/build.sh"));
}

}  // namespace gandem
