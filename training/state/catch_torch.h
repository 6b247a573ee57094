// SPDX-License-Identifier: Apache-2.0
//
// Converts Torch's exceptions to Status, as style.md 3.4 requires.
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

// Carries an error Status through Torch, for example out of a graph node;
// CatchTorch converts it back.
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

// Calls `body` and returns its status, or converts its exception:
//   the carried status  StatusError.
//   RESOURCE_EXHAUSTED  out of device memory, host memory or threads.
//   INTERNAL            anything else, without the backtrace. Logs the whole
//                       text unless stderr is a terminal.
absl::Status CatchTorch(absl::FunctionRef<absl::Status()> body);

// Like CatchTorch, for a body that returns a StatusOr.
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
