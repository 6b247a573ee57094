// SPDX-License-Identifier: Apache-2.0
//
// The output of `gandem train`: permanent lines, and below them a progress line
// that is overwritten. Without a terminal, the progress is printed as a plain
// line now and then.
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
  // Maximum number of items to keep while nobody reads.
  static constexpr size_t kMaxPending = 500;

  // `fd` stays the caller's. `is_terminal`: `fd` supports carriage returns and
  // ANSI codes. `log_path`: file with the lines that are left out, for the line
  // that reports them.
  Console(int fd, bool is_terminal, std::string log_path);
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  // Clears the progress line. Gives the reader a few seconds to read the rest,
  // and logs the number of lines that it did not read.
  ~Console();

  void PrintLine(absl::string_view line);
  // Shows the progress if the last one is old enough, or `at_once`.
  void ShowProgress(const ProgressView& view, absl::Time now,
                    bool at_once = false);
  // Writes as much as the reader takes.
  void Flush();

 private:
  struct Pending {
    std::string text;
    bool is_progress = false;
  };

  void Add(Pending pending);
  // Moves the oldest pending item to current_. False: there is none.
  bool TakeNext();
  // Writes current_. False: the reader has not taken all of it.
  bool WriteCurrent();
  bool WaitForReader(absl::Time deadline) const;
  int Columns() const;

  const int fd_;      // the caller's
  const int own_fd_;  // the same, non-blocking; -1: could not be opened
  const bool terminal_;
  const std::string log_path_;
  std::deque<Pending> pending_;
  std::string current_;  // bytes of an item that is partly written
  size_t left_out_ = 0;  // lines that were older than pending_
  bool drawn_ = false;   // a progress line is drawn after current_
  absl::Time last_shown_ = absl::InfinitePast();
};

}  // namespace gandem
