// SPDX-License-Identifier: Apache-2.0
#include "common/checkpoint/checkpoint_pruner.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/status.h"

namespace gandem {

CheckpointPruner::CheckpointPruner(Options options)
    : options_(std::move(options)) {
  GANDEM_CHECK(options_.keep_last >= 1);
}

bool CheckpointPruner::MayGo(int64_t step, int64_t committed) const {
  return step != committed &&
         (options_.keep_every <= 0 || step % options_.keep_every != 0);
}

bool CheckpointPruner::IsGood(int64_t step, std::vector<std::string>& damaged) {
  const std::string path = CheckpointPath(options_.run_dir, step);
  const auto [read, is_new] = read_.try_emplace(step);
  if (is_new) {
    read->second = VerifyCheckpoint(path).status();
    if (!read->second.ok()) {
      damaged.push_back(absl::StrCat(path, ": ", read->second.message()));
    }
  }
  // A file may have gone since.
  return read->second.ok() && CheckSizes(path).ok();
}

absl::StatusOr<std::vector<std::string>> CheckpointPruner::Prune(
    int64_t committed) {
  // It may have taken the place of a damaged one.
  if (const auto read = read_.find(committed);
      read != read_.end() && !read->second.ok()) {
    read_.erase(read);
  }
  GANDEM_ASSIGN_OR_RETURN(const std::vector<int64_t> steps,
                          ListCheckpoints(options_.run_dir));
  size_t end = steps.size();  // of those that are looked at
  while (end > 0 && !MayGo(steps[end - 1], committed)) --end;
  std::vector<std::string> damaged;
  int64_t good = 0;
  // Too few are newer than the last that may go: nothing has to be read.
  if (static_cast<int64_t>(end) <= options_.keep_last) return damaged;
  for (size_t i = 0; i < end; ++i) {
    if (good < options_.keep_last) {
      if (i + 1 < end) good += IsGood(steps[i], damaged);
    } else if (MayGo(steps[i], committed)) {
      GANDEM_RETURN_IF_ERROR(RemoveCheckpoint(options_.run_dir, steps[i]));
      read_.erase(steps[i]);
    }
  }
  return damaged;
}

}  // namespace gandem
