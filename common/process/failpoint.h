// SPDX-License-Identifier: Apache-2.0
//
// Named points at which tests inject faults. A count of passes makes a fault
// happen at the same place in every run.
//
//   GANDEM_FAILPOINT="checkpoint.before_rename:2"
//     SIGKILL at the second pass of the process.
//   GANDEM_FAILPOINT="checkpoint.before_rename:2:/tmp/happened"
//     As above, but only if the file does not exist. The file is created
//     before the fault and contains the pid, so a restarted process survives.
//   GANDEM_FAILPOINT="stop ring.before_send@generator-1:40:/tmp/happened"
//     SIGSTOP, only in the process "generator-1"; the test continues it.
//     Processes are "gandem", "evaluation", and workers by role and rank.
//   GANDEM_FAILPOINT="hang generator.before_update@generator-0:7:/tmp/happened"
//     Blocks the thread forever; other threads continue.
//   GANDEM_FAILPOINT="cut=fleet ring.before_send:40"
//     Cuts the process's connections whose names contain "fleet"; a plain
//     "cut" cuts all (cut_connections.h). The process continues.
//   GANDEM_FAILPOINT="corrupt update.gradients@generator-0:7"
//     Damages the data that passes, if the code uses GANDEM_FAILPOINT_CORRUPTS
//     or FailpointDamages there; "7+" damages the seventh and all later passes.
//   GANDEM_FAILPOINT="corrupt=900 ring.encode_frame:7"
//     Flips a bit of the byte at 900 thousandths of the data; the default is
//     the middle.
//   GANDEM_FAILPOINT="kill ring.received:9;cut ring.before_send:4:/tmp/cut"
//     Arms several failpoints, each with its own count.
//
// Unknown names are accepted and never passed.
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

// Reads the variable; every main() calls it first.
//   INVALID_ARGUMENT  an unknown kind, or a count below 1
absl::Status ArmFailpointFromEnvironment(absl::string_view process);

// Replaces all armed failpoints, as given in the variable; those of other
// processes are skipped. Arms nothing if `text` is invalid.
absl::Status ArmFailpoint(absl::string_view text,
                          absl::string_view process = "");

namespace internal {
extern std::atomic<bool> failpoint_armed;
// Returns where to damage the passing data, in thousandths of its length.
std::optional<int> PassFailpoint(absl::string_view name);
}  // namespace internal

// Marks a point that `size` bytes pass. Returns the index of the byte to
// damage.
inline std::optional<size_t> FailpointDamages(absl::string_view name,
                                              size_t size) {
  if (!internal::failpoint_armed.load(std::memory_order_relaxed) || size == 0) {
    return std::nullopt;
  }
  const std::optional<int> place = internal::PassFailpoint(name);
  if (!place.has_value()) return std::nullopt;
  return size * static_cast<size_t>(*place) / 1000;
}
// Flips one bit.
inline unsigned char WithWrongBit(unsigned char byte, size_t at) {
  return static_cast<unsigned char>(byte ^ (1U << (at % 8)));
}

}  // namespace gandem

#define GANDEM_FAILPOINT(name)                                                 \
  do {                                                                         \
    if (::gandem::internal::failpoint_armed.load(std::memory_order_relaxed)) { \
      ::gandem::internal::PassFailpoint(name);                                 \
    }                                                                          \
  } while (false)

// Marks a point and returns whether the caller should damage the passing data.
#define GANDEM_FAILPOINT_CORRUPTS(name)                                   \
  (::gandem::internal::failpoint_armed.load(std::memory_order_relaxed) && \
   ::gandem::internal::PassFailpoint(name).has_value())
