// SPDX-License-Identifier: Apache-2.0
#include "python_worker/interpreter.h"

#include <string>

namespace gandem {

namespace py = pybind11;

absl::Status StatusOf(py::error_already_set& error) {
  // Before Python 3.12, an exception has no traceback until Python catches it.
  if (error.trace()) {
    PyException_SetTraceback(error.value().ptr(), error.trace().ptr());
  }
  try {
    const py::object text = py::module_::import("gandem._network")
                                .attr("error_text")(error.value());
    return absl::FailedPreconditionError(text.cast<std::string>());
  } catch (const py::error_already_set& second) {
    // Out of memory, or an exception without a printable text.
    return absl::FailedPreconditionError(second.what());
  }
}

}  // namespace gandem
