// SPDX-License-Identifier: Apache-2.0
//
// Checks of invariants. A failure is a bug of gandem, never of its input, and
// aborts the process with file and line.
//
// Thread safety: any thread.
#pragma once

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gandem::internal {

[[noreturn]] void CheckFailed(const char* file, int line,
                              absl::string_view what);

}  // namespace gandem::internal

#define GANDEM_CHECK(condition)                                        \
  do {                                                                 \
    if (ABSL_PREDICT_FALSE(!(condition))) {                            \
      ::gandem::internal::CheckFailed(__FILE__, __LINE__, #condition); \
    }                                                                  \
  } while (false)

#define GANDEM_CHECK_OK(expression)                                    \
  do {                                                                 \
    const ::absl::Status gandem_check_status = (expression);           \
    if (ABSL_PREDICT_FALSE(!gandem_check_status.ok())) {               \
      ::gandem::internal::CheckFailed(__FILE__, __LINE__,              \
                                      gandem_check_status.ToString()); \
    }                                                                  \
  } while (false)
