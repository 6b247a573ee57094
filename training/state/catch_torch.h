// SPDX-License-Identifier: Apache-2.0
//
// Where Torch's exceptions end (style.md 3.4: nothing escapes a thread).
//
// Thread safety: any thread.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace gandem {

// Calls `body` and returns its status, or that of what it throws:
//   its own             of a StatusError (status_error.h).
//   RESOURCE_EXHAUSTED  out of memory on the device or the host.
//   INTERNAL            anything else; the first line is kept, the whole text
//                       is logged once.
absl::Status CatchTorch(absl::FunctionRef<absl::Status()> body);

}  // namespace gandem
