// SPDX-License-Identifier: Apache-2.0
//
// The terminal of `gandem train`: lines that stay, and below them a progress
// line that is drawn over. Without a terminal the progress is printed as a
// plain line now and then.
//
// Owner: `gandem train`. Thread safety: one thread.
// Errors: what cannot be written is dropped.
#pragma once

#include <cstdio>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "scaling_manager/views/progress.h"

namespace gandem {

class Console {
 public:
  // `is_terminal`: `out` understands carriage returns and ANSI codes.
  Console(FILE* out, bool is_terminal) : out_(out), terminal_(is_terminal) {}
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  // Clears the progress line.
  ~Console();

  void PrintLine(absl::string_view line);
  // Shows the progress if it is time for it, or `at_once`.
  void ShowProgress(const ProgressView& view, absl::Time now,
                    bool at_once = false);

 private:
  void ClearProgress();
  int Columns() const;

  FILE* const out_;
  const bool terminal_;
  bool drawn_ = false;  // the cursor stands behind a progress line
  absl::Time last_shown_ = absl::InfinitePast();
};

}  // namespace gandem
