// SPDX-License-Identifier: Apache-2.0
//
// Where Torch's exceptions end (style.md 3.4: nothing escapes a thread).
//
// Thread safety: any thread.
#pragma once

#include <exception>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace gandem {

// Carries a Status, which is not OK, out of what Torch calls, a node of a graph
// for example; CatchTorch makes it a Status again.
class StatusError : public std::exception {
 public:
  explicit StatusError(absl::Status status)
      : status_(std::move(status)), text_(status_.ToString()) {}
  const char* what() const noexcept override { return text_.c_str(); }
  const absl::Status& status() const { return status_; }

 private:
  const absl::Status status_;
  const std::string text_;
};

// Calls `body` and returns its status, or that of what it throws:
//   its own             of a StatusError.
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
