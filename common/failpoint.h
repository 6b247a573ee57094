// SPDX-License-Identifier: Apache-2.0
//
// Named points at which a crash test can kill the process, counted by passes,
// so that a crash happens at the same place in every run.
//
//   GANDEM_FAILPOINT="checkpoint.before_rename:2"
//     SIGKILL at the second pass of the process.
//   GANDEM_FAILPOINT="checkpoint.before_rename:2:/tmp/killed"
//     The same, unless the file exists; it is created just before the kill. So
//     restarted processes live on, and the test sees that the kill happened.
//
// All names stand in one table in failpoint.cc; a test compares it with the
// code.
//
// Owner: the process. Thread safety: any thread; arm before threads start.
// Cost of a point that is not armed: one relaxed load.
#pragma once

#include <atomic>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gandem {

inline constexpr char kFailpointVariable[] = "GANDEM_FAILPOINT";

// Reads the variable; every main() calls it first. Nothing when it is unset.
//   INVALID_ARGUMENT  an unknown name (lists all) or a count that is not >= 1.
absl::Status ArmFailpointFromEnvironment();

// "name:N" or "name:N:file"; empty: disarms.
absl::Status ArmFailpoint(absl::string_view text);

std::span<const absl::string_view> FailpointNames();

namespace internal {
extern std::atomic<bool> failpoint_armed;
void PassFailpoint(absl::string_view name);
}  // namespace internal

}  // namespace gandem

// Marks a point. `name` is a string literal of the table.
#define GANDEM_FAILPOINT(name)                                                 \
  do {                                                                         \
    if (::gandem::internal::failpoint_armed.load(std::memory_order_relaxed)) { \
      ::gandem::internal::PassFailpoint(name);                                 \
    }                                                                          \
  } while (false)
