// SPDX-License-Identifier: Apache-2.0
//
// How far a profile is, for its user: a line for each answer, and below them,
// on a terminal, a bar that is drawn over.
//
// Owner: `gandem profile`. Thread safety: one thread.
#pragma once

#include <iosfwd>
#include <string>

#include "absl/time/time.h"
#include "proto/profile.pb.h"

namespace gandem {

class ProbeProgress {
 public:
  // `is_terminal`: `err` is one.
  ProbeProgress(absl::Duration budget, std::ostream& out, std::ostream& err,
                bool is_terminal)
      : budget_(budget), out_(out), err_(err), is_terminal_(is_terminal) {}
  ProbeProgress(const ProbeProgress&) = delete;
  ProbeProgress& operator=(const ProbeProgress&) = delete;
  ~ProbeProgress() { Clear(); }

  // What is measured now, after `spent` of the budget.
  void Show(absl::Duration spent, const std::string& what);
  void PrintLine(const std::string& line);

 private:
  void Clear();

  const absl::Duration budget_;
  std::ostream& out_;
  std::ostream& err_;
  const bool is_terminal_;
};

// "generator, batch 64, ...: 0.512 s a round (0.507 to 0.518, 14 rounds), 812
// MiB", or why there is none.
std::string ProbeLine(const Probe& probe);

// "exchange over a socket: 95 us and 1.4 GB/s"
std::string TransferLine(const TransferProfile& transfer);

}  // namespace gandem
