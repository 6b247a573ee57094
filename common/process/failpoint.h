// SPDX-License-Identifier: Apache-2.0
//
// Named points at which a test can make something go wrong, counted by passes,
// so that it happens at the same place in every run.
//
//   GANDEM_FAILPOINT="checkpoint.before_rename:2"
//     SIGKILL at the second pass of the process.
//   GANDEM_FAILPOINT="checkpoint.before_rename:2:/tmp/happened"
//     The same, unless the file exists; it is created just before, and holds
//     the pid. So restarted processes live on, and the test sees what happened.
//   GANDEM_FAILPOINT="stop ring.before_send@generator-1:40:/tmp/happened"
//     SIGSTOP, and in that process only: the test continues it. Processes are
//     "gandem", "evaluation", and workers by role and rank.
//   GANDEM_FAILPOINT="hang generator.before_update@generator-0:7:/tmp/happened"
//     The thread never goes on; the others of the process do.
//   GANDEM_FAILPOINT="cut=fleet ring.before_send:40"
//     The process's connections whose names contain "fleet" break, and it goes
//     on; "cut" breaks all (cut_connections.h).
//   GANDEM_FAILPOINT="corrupt update.gradients@generator-0:7"
//     What passes there is damaged, where GANDEM_FAILPOINT_CORRUPTS or
//     FailpointDamages asks; with "7+" from then on.
//   GANDEM_FAILPOINT="corrupt=900 ring.encode_frame:7"
//     Of the bytes that pass, the one after 900 thousandths of them has a wrong
//     bit; without a number the one in the middle.
//   GANDEM_FAILPOINT="kill ring.received:9;cut ring.before_send:4:/tmp/cut"
//     Several, each with a count of its own.
//
// A name that the code does not have is never passed.
//
// Owner: the process. Thread safety: any thread; arm before threads start.
// Cost of a point that is not armed: one relaxed load.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gandem {

inline constexpr char kFailpointVariable[] = "GANDEM_FAILPOINT";

// Reads the variable; every main() calls it first. Nothing when it is unset.
//   INVALID_ARGUMENT  an unknown kind, or a count that is not >= 1.
absl::Status ArmFailpointFromEnvironment(absl::string_view process);

// "[KIND ]NAME[@PROCESS]:N[+][:FILE]", several with ';' between them, which no
// FILE holds. Replaces what is armed; of those for other processes nothing is,
// and of a text with a fault nothing either.
absl::Status ArmFailpoint(absl::string_view text,
                          absl::string_view process = "");

namespace internal {
extern std::atomic<bool> failpoint_armed;
// Position at which a passing message is to be damaged, in thousandths of its
// length; empty: nowhere.
std::optional<int> PassFailpoint(absl::string_view name);
}  // namespace internal

// Marks a point that `size` bytes pass: which of them the caller is to damage.
inline std::optional<size_t> FailpointDamages(absl::string_view name,
                                              size_t size) {
  if (!internal::failpoint_armed.load(std::memory_order_relaxed) || size == 0) {
    return std::nullopt;
  }
  const std::optional<int> place = internal::PassFailpoint(name);
  if (!place.has_value()) return std::nullopt;
  return size * static_cast<size_t>(*place) / 1000;
}
// A byte that was damaged there: one bit differs.
inline unsigned char WithWrongBit(unsigned char byte, size_t at) {
  return static_cast<unsigned char>(byte ^ (1U << (at % 8)));
}

}  // namespace gandem

// Marks a point. `name` is a string literal.
#define GANDEM_FAILPOINT(name)                                                 \
  do {                                                                         \
    if (::gandem::internal::failpoint_armed.load(std::memory_order_relaxed)) { \
      ::gandem::internal::PassFailpoint(name);                                 \
    }                                                                          \
  } while (false)

// The same, and whether the caller is to damage what passes.
#define GANDEM_FAILPOINT_CORRUPTS(name)                                   \
  (::gandem::internal::failpoint_armed.load(std::memory_order_relaxed) && \
   ::gandem::internal::PassFailpoint(name).has_value())
