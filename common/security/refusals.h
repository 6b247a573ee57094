// SPDX-License-Identifier: Apache-2.0
//
// Counts refused connections and calls of this process, and logs at most one
// line a second, because refused clients may retry quickly.
//
// Owner: the process. Thread safety: any thread; RefusalPace: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace gandem {

// Limits log lines to one a second.
class RefusalPace {
 public:
  // Returns the number of lines left out since the last line, or nothing if
  // this line is left out. `now` comes from MonotonicNow().
  std::optional<int64_t> Pass(absl::Time now);

 private:
  int64_t left_out_ = 0;
  absl::Time last_line_ = absl::InfinitePast();
};

class Refusals {
 public:
  // Returns the log line to write now, if any: `what`, and the number of
  // refusals left out since the last line. `now` comes from MonotonicNow().
  std::optional<std::string> Add(absl::string_view what, absl::Time now);
  int64_t count() const;

 private:
  mutable absl::Mutex mu_;
  int64_t count_ ABSL_GUARDED_BY(mu_) = 0;
  RefusalPace pace_ ABSL_GUARDED_BY(mu_);
};

void NoteRefusal(absl::string_view what);
int64_t NumRefusals();

}  // namespace gandem
