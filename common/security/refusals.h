// SPDX-License-Identifier: Apache-2.0
//
// Refused connections and calls of this process. They are counted, and logged
// in at most one line a second, because a refused client may retry as fast as
// it likes.
//
// Owner: the process. Thread safety: any thread, except RefusalPace: one thread
// at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace gandem {

// A line a second.
class RefusalPace {
 public:
  // How many were left out since the last line; nothing: this one is left out,
  // too. `now` is MonotonicNow()'s.
  std::optional<int64_t> Pass(absl::Time now);

 private:
  int64_t left_out_ = 0;
  absl::Time last_line_ = absl::InfinitePast();
};

class Refusals {
 public:
  // Returns what to log now, if anything: `what`, and how many were left out
  // since the last line. `now` is MonotonicNow()'s.
  std::optional<std::string> Add(absl::string_view what, absl::Time now);
  int64_t count() const;

 private:
  mutable absl::Mutex mu_;
  int64_t count_ ABSL_GUARDED_BY(mu_) = 0;
  RefusalPace pace_ ABSL_GUARDED_BY(mu_);
};

// Counts and logs a refusal of this process.
void NoteRefusal(absl::string_view what);
int64_t NumRefusals();

}  // namespace gandem
