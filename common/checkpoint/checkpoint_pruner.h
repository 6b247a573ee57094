// SPDX-License-Identifier: Apache-2.0
//
// Removes old checkpoints of a run.
//
// Damaged checkpoints do not count as kept, so the last good ones stay. The
// CRCs of a checkpoint are verified once, and only if an older one would be
// removed because of it. The folder is listed once, so the cost of a commit
// does not depend on the number of checkpoints.
//
// Owner: the coordinator, for the whole run. Thread safety: one thread at a
// time; no other code may remove checkpoints of the run.
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
    int64_t keep_last = 2;   // newest complete checkpoints, >= 1
    int64_t keep_every = 0;  // also keep multiples of this; 0: off
  };

  explicit CheckpointPruner(Options options);

  // Prunes after the commit of step `committed`, which stays even if an earlier
  // start left newer steps. Returns newly found damaged checkpoints: "path:
  // why".
  absl::StatusOr<std::vector<std::string>> Prune(int64_t committed);

 private:
  bool MayGo(int64_t step, int64_t committed) const;
  // Returns whether a checkpoint is complete; adds the reason to `damaged` if
  // not. `looks_again`: verify the sizes again, because files may be gone.
  bool IsGood(int64_t step, bool looks_again,
              std::vector<std::string>& damaged);

  const Options options_;
  // All steps of the run, newest first, once listed.
  std::optional<std::set<int64_t, std::greater<>>> steps_;
  std::map<int64_t, absl::Status> read_;  // results of verification, by step
};

}  // namespace gandem
