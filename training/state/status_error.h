// SPDX-License-Identifier: Apache-2.0
//
// Carries a Status, which is not OK, out of what Torch calls, a node of a graph
// for example; CatchTorch makes it a Status again.
//
// Thread safety: a value.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "absl/status/status.h"

namespace gandem {

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

}  // namespace gandem
