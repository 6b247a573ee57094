// SPDX-License-Identifier: Apache-2.0
//
// Converts Python exceptions to Status.
//
// Thread safety: any thread that does not hold the interpreter's lock.
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

#include "absl/status/status.h"
#include "training/state/catch_torch.h"

namespace gandem {

// Converts `error`: gandem.NetworkError to its message, other exceptions to
// their traceback. Requires the interpreter's lock.
absl::Status StatusOf(pybind11::error_already_set& error);

// Runs body() with the interpreter's lock; throws StatusError.
template <typename Body>
auto WithInterpreter(Body body) {
  const pybind11::gil_scoped_acquire lock;
  try {
    return body();
  } catch (pybind11::error_already_set& error) {
    throw StatusError(StatusOf(error));
  }
}

}  // namespace gandem
