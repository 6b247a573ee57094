// SPDX-License-Identifier: Apache-2.0
#include "common/checkpoint/checkpoint_pruner.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/status.h"

namespace gandem {
namespace {

// Number of newest good checkpoints, candidates for a resume, that are verified
// on every call. Limited because a run may keep thousands.
constexpr int64_t kLooksAgain = 8;

}  // namespace

CheckpointPruner::CheckpointPruner(Options options)
    : options_(std::move(options)) {
  GANDEM_CHECK(options_.keep_last >= 1);
}

bool CheckpointPruner::MayGo(int64_t step, int64_t committed) const {
  return step != committed &&
         (options_.keep_every <= 0 || step % options_.keep_every != 0);
}

bool CheckpointPruner::IsGood(int64_t step, bool looks_again,
                              std::vector<std::string>& damaged) {
  const std::string path = CheckpointPath(options_.run_dir, step);
  const auto [read, is_new] = read_.try_emplace(step);
  if (is_new) {
    read->second = VerifyCheckpoint(path).status();
    if (!read->second.ok()) {
      damaged.push_back(absl::StrCat(path, ": ", read->second.message()));
    }
  }
  return read->second.ok() && (!looks_again || CheckSizes(path).ok());
}

absl::StatusOr<std::vector<std::string>> CheckpointPruner::Prune(
    int64_t committed) {
  // The commit may have replaced a damaged checkpoint.
  if (const auto read = read_.find(committed);
      read != read_.end() && !read->second.ok()) {
    read_.erase(read);
  }
  if (!steps_.has_value()) {
    GANDEM_ASSIGN_OR_RETURN(const std::vector<int64_t> listed,
                            ListCheckpoints(options_.run_dir));
    steps_.emplace(listed.begin(), listed.end());
  }
  steps_->insert(committed);
  std::vector<std::string> damaged;
  const auto oldest =
      std::find_if(steps_->rbegin(), steps_->rend(),
                   [&](int64_t step) { return MayGo(step, committed); });
  const auto end = oldest.base();  // end of the checkpoints to visit
  // Nothing can be removed, so nothing has to be read.
  if (std::distance(steps_->begin(), end) <= options_.keep_last) return damaged;
  int64_t good = 0;
  for (auto it = steps_->begin(); it != end;) {
    const int64_t step = *it++;
    if (good < options_.keep_last) {
      if (it != end) good += IsGood(step, good < kLooksAgain, damaged);
    } else if (MayGo(step, committed)) {
      const absl::Status removed = RemoveCheckpoint(options_.run_dir, step);
      // Another process may have removed it.
      if (!absl::IsNotFound(removed)) GANDEM_RETURN_IF_ERROR(removed);
      read_.erase(step);
      steps_->erase(step);
    }
  }
  return damaged;
}

}  // namespace gandem
