// SPDX-License-Identifier: Apache-2.0
//
// Output of `gandem train`: permanent lines, and a progress line below them.
// Without a terminal, progress is a line every few seconds.
//
// No call waits for a reader (`gandem train | less`, Ctrl-S). Later calls write
// the newest progress and lines, and the number of dropped lines.
//
// Owner: `gandem train`. Thread safety: one thread. Errors: output that fails
// for another reason is dropped.
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
  // Maximum number of items to keep while nobody reads.
  static constexpr size_t kMaxPending = 500;

  // Does not take ownership of `fd`. `is_terminal`: `fd` supports carriage
  // returns and ANSI codes. `log_path`: file that has the dropped lines.
  Console(int fd, bool is_terminal, std::string log_path);
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  // Clears the progress line, waits a few seconds for a slow reader, and logs
  // the number of unread lines.
  ~Console();

  void PrintLine(absl::string_view line);
  // Shows the progress if `at_once`, or if the last one is old enough.
  void ShowProgress(const ProgressView& view, absl::Time now,
                    bool at_once = false);
  // Writes as much as the reader accepts.
  void Flush();

 private:
  struct Pending {
    std::string text;
    bool is_progress = false;
  };

  void Add(Pending pending);
  // Moves the oldest pending item to current_. Returns false if there is none.
  bool TakeNext();
  // Writes current_. Returns false if the reader has not accepted all of it.
  bool WriteCurrent();
  bool WaitForReader(absl::Time deadline) const;
  int Columns() const;

  const int fd_;      // owned by the caller
  const int own_fd_;  // non-blocking duplicate of fd_; -1: none
  const bool terminal_;
  const std::string log_path_;
  std::deque<Pending> pending_;
  std::string current_;  // bytes of an item that is partly written
  size_t left_out_ = 0;  // number of dropped lines
  bool drawn_ = false;   // a progress line is drawn after current_
  absl::Time last_shown_ = absl::InfinitePast();
};

}  // namespace gandem
