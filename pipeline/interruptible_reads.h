// SPDX-License-Identifier: Apache-2.0
//
// Lets Ctrl-C and SIGTERM end reads that wait for a network, in a command that
// handles signals itself (they are blocked):
//
//   InterruptibleReads reads;
//   absl::Status opened = Open();   // CANCELLED after a signal
//   GANDEM_RETURN_IF_ERROR(reads.Explain(opened));
//
// Local reads do not check for the signal. If the command is still running
// kStopLimit after it, the process exits with the exit code of CANCELLED.
//
// Owner: the reading function, for its own thread. Thread safety: none.
#pragma once

#include <signal.h>

#include <atomic>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/process/exit_code.h"
#include "common/process/signals.h"
#include "common/stalls/exit_deadline.h"
#include "pipeline/read_stop.h"

namespace gandem {

class InterruptibleReads {
 public:
  static constexpr absl::Duration kStopLimit = absl::Seconds(5);

  explicit InterruptibleReads(absl::Duration stop_limit = kStopLimit)
      : signals_(SignalsToHear({SIGINT, SIGTERM}),
                 [this, stop_limit](int /*signal*/) {
                   stop_ = true;
                   end_.Set(stop_limit, kExitResumable,
                            "gandem: interrupted while it waited for a disk");
                 }),
        scope_(&stop_) {}

  // Returns CANCELLED after a signal, otherwise `status`.
  absl::Status Explain(absl::Status status) const {
    return stop_ ? absl::CancelledError("interrupted while images were read")
                 : std::move(status);
  }

 private:
  std::atomic<bool> stop_ = false;
  ExitDeadline end_;
  const SignalThread signals_;
  const ScopedReadStop scope_;
};

}  // namespace gandem
