// SPDX-License-Identifier: Apache-2.0
//
// Where Torch's exceptions end (style.md 3.4: nothing escapes a thread).
//
// Thread safety: any thread.
#pragma once

#include <type_traits>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace gandem {

// Calls `body` and returns its status, or that of what it throws:
//   its own             of a StatusError (status_error.h).
//   RESOURCE_EXHAUSTED  out of memory on the device or the host, or of threads.
//   INTERNAL            anything else; the first line is kept, the whole text
//                       is logged once, but not to a terminal.
absl::Status CatchTorch(absl::FunctionRef<absl::Status()> body);

// The same for a body that returns a StatusOr.
template <typename Body>
std::invoke_result_t<Body> CatchTorchOr(Body body) {
  std::invoke_result_t<Body> result;
  const absl::Status status = CatchTorch([&] {
    result = body();
    return result.status();
  });
  if (!status.ok()) return status;
  return result;
}

}  // namespace gandem
