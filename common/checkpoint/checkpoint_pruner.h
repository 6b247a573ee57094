// SPDX-License-Identifier: Apache-2.0
//
// Removes the checkpoints of a run that it need not keep.
//
// A damaged checkpoint does not count as kept, so the last good ones stay
// however many came after them. To know that, checkpoints are read and compared
// with their CRCs: only those for whose sake an older one would be removed, and
// each of them once. The folder is listed once, too: a commit costs the same
// however many checkpoints the run keeps.
//
// Owner: the coordinator, for the whole run. Thread safety: one thread at a
// time; nobody else removes checkpoints of the run.
// Errors: those of checkpoint_files.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace gandem {

class CheckpointPruner {
 public:
  struct Options {
    std::string run_dir;     // required
    int64_t keep_last = 2;   // >= 1: the newest complete ones
    int64_t keep_every = 0;  // and the multiples of so many rounds; 0: none
  };

  explicit CheckpointPruner(Options options);

  // `committed` is the step that was just made: it stays, whatever newer ones
  // an earlier start has left. Returns the damaged checkpoints that were found,
  // once each: "path: why".
  absl::StatusOr<std::vector<std::string>> Prune(int64_t committed);

 private:
  bool MayGo(int64_t step, int64_t committed) const;
  // Whether it counts; tells `damaged` why not. `looks_again`: a file may have
  // gone since it was read.
  bool IsGood(int64_t step, bool looks_again,
              std::vector<std::string>& damaged);

  const Options options_;
  // All of the run, newest first, once they were listed.
  std::optional<std::set<int64_t, std::greater<>>> steps_;
  std::map<int64_t, absl::Status> read_;  // how checkpoints were found, by step
};

}  // namespace gandem
