// SPDX-License-Identifier: Apache-2.0
//
// Lets Ctrl-C and SIGTERM end reads that wait for a network, in a command that
// hears signals itself (they are blocked):
//
//   InterruptibleReads reads;
//   absl::Status opened = Open();   // CANCELLED once one came
//   GANDEM_RETURN_IF_ERROR(reads.Explain(opened));
//
// Owner: the function that reads, for its own thread. Thread safety: none.
#pragma once

#include <signal.h>

#include <atomic>
#include <utility>

#include "absl/status/status.h"
#include "common/process/signals.h"
#include "pipeline/read_stop.h"

namespace gandem {

class InterruptibleReads {
 public:
  InterruptibleReads()
      : signals_(SignalsToHear({SIGINT, SIGTERM}),
                 [this](int /*signal*/) { stop_ = true; }),
        scope_(&stop_) {}

  // CANCELLED where a signal came, whatever the reads ended with.
  absl::Status Explain(absl::Status status) const {
    return stop_ ? absl::CancelledError("interrupted while images were read")
                 : std::move(status);
  }

 private:
  std::atomic<bool> stop_ = false;
  const SignalThread signals_;
  const ScopedReadStop scope_;
};

}  // namespace gandem
