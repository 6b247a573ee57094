// SPDX-License-Identifier: Apache-2.0
//
// Passes a failed absl::Status to the caller.
//
// Thread safety: pure functions.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

// Prepends "prefix: " to an error's message; keeps code and payloads.
absl::Status Annotate(const absl::Status& status, absl::string_view prefix);

namespace internal {
inline absl::Status StatusOf(absl::Status status) { return status; }
template <typename T>
absl::Status StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}
}  // namespace internal

}  // namespace gandem

// Returns from the enclosing function if a Status or StatusOr is an error.
#define GANDEM_RETURN_IF_ERROR(expression)                                   \
  do {                                                                       \
    absl::Status gandem_status = ::gandem::internal::StatusOf((expression)); \
    if (!gandem_status.ok()) return gandem_status;                           \
  } while (false)

// Example: GANDEM_ASSIGN_OR_RETURN(const Config config, Load(path));
// A type with a comma needs a using-declaration, or auto.
#define GANDEM_ASSIGN_OR_RETURN(lhs, expression) \
  GANDEM_INTERNAL_ASSIGN_OR_RETURN(              \
      GANDEM_INTERNAL_CONCAT(gandem_result_, __LINE__), lhs, expression)

#define GANDEM_INTERNAL_ASSIGN_OR_RETURN(result, lhs, expression) \
  auto result = (expression);                                     \
  if (!result.ok()) return std::move(result).status();            \
  lhs = *std::move(result)

#define GANDEM_INTERNAL_CONCAT(a, b) GANDEM_INTERNAL_CONCAT_2(a, b)
#define GANDEM_INTERNAL_CONCAT_2(a, b) a##b
