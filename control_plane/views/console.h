// SPDX-License-Identifier: Apache-2.0
//
// The terminal of `gandem train`: lines that stay, and below them a progress
// line that is drawn over. Without a terminal the progress is printed as a
// plain line now and then.
//
// No call waits for a reader (`gandem train | less`, Ctrl-S). Later calls write
// what cannot be written yet: the newest progress, the newest lines, and the
// number of older lines.
//
// Owner: `gandem train`. Thread safety: one thread.
// Errors: text that cannot be written at all is dropped.
#pragma once

#include <cstddef>
#include <deque>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "control_plane/views/progress.h"

namespace gandem {

class Console {
 public:
  // Lines that are kept while nobody reads.
  static constexpr size_t kMaxPending = 500;

  // `fd` stays the caller's. `is_terminal`: it understands carriage returns and
  // ANSI codes. `log_path`: where left out lines stand, for the line that tells
  // of them.
  Console(int fd, bool is_terminal, std::string log_path);
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  // Clears the progress line. Gives a reader a few seconds to take what is
  // left, and logs how much that was if it does not.
  ~Console();

  void PrintLine(absl::string_view line);
  // Shows the progress if it is time for it, or `at_once`.
  void ShowProgress(const ProgressView& view, absl::Time now,
                    bool at_once = false);
  // Writes what can be written.
  void Flush();

 private:
  struct Pending {
    std::string text;
    bool is_progress = false;
  };

  void Add(Pending pending);
  // Makes current_ of the oldest pending item; false: there is none.
  bool TakeNext();
  // Writes of current_ what the reader takes; false: not all of it.
  bool WriteCurrent();
  bool WaitForReader(absl::Time deadline) const;
  int Columns() const;

  const int fd_;      // as the caller gave it
  const int own_fd_;  // the same without waiting; -1: could not be opened
  const bool terminal_;
  const std::string log_path_;
  std::deque<Pending> pending_;
  std::string current_;  // bytes of an item that is partly written
  size_t left_out_ = 0;  // lines that were older than pending_
  bool drawn_ = false;   // behind current_ stands a progress line
  absl::Time last_shown_ = absl::InfinitePast();
};

}  // namespace gandem
