// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/coordinator/shard_collector.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/faults.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr int64_t kMaxFiles = 1000;

// A name that stays inside the checkpoint's folder and is not ours.
bool IsShardName(const std::string& name) {
  return !name.empty() && name.size() <= 255 && name[0] != '.' &&
         name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos && name != kManifestName;
}

}  // namespace

absl::Status ShardCollector::Check(int worker,
                                   const ShardReport& report) const {
  Faults faults("shard report");
  faults.CheckRange("step", report.step(), 1, rounds_);
  faults.CheckRange("number of files", report.files_size(), 0, kMaxFiles);
  if (report.error().empty() && report.files().empty()) {
    faults.Add("it has neither files nor an error");
  }
  std::set<std::string> names;
  if (const auto step = steps_.find(report.step()); step != steps_.end()) {
    for (const auto& [other, reported] : step->second) {
      if (other == worker) continue;
      for (const CheckpointFile& file : reported.files()) {
        names.insert(file.name());
      }
    }
  }
  for (const CheckpointFile& file : report.files()) {
    if (!IsShardName(file.name())) {
      faults.Add(absl::StrCat("'", file.name(), "' cannot be a shard's name"));
    } else if (!names.insert(file.name()).second) {
      faults.Add(absl::StrCat("'", file.name(), "' was reported before"));
    }
    if (file.size() < 0) {
      faults.Add(
          absl::StrCat("'", file.name(), "' has ", file.size(), " bytes"));
    }
  }
  return faults.ToStatus();
}

absl::StatusOr<ShardCollector::State> ShardCollector::Add(
    int worker, const ShardReport& report) {
  GANDEM_RETURN_IF_ERROR(Check(worker, report));
  Reports& reports = steps_[report.step()];
  reports[worker] = report;
  if (static_cast<int>(reports.size()) < num_workers_) {
    return State::kIncomplete;
  }
  return Error(report.step()).empty() ? State::kComplete : State::kFailed;
}

std::vector<CheckpointFile> ShardCollector::Files(int64_t step) const {
  std::vector<CheckpointFile> files;
  const auto found = steps_.find(step);
  if (found == steps_.end()) return files;
  for (const auto& [worker, report] : found->second) {
    files.insert(files.end(), report.files().begin(), report.files().end());
  }
  std::sort(files.begin(), files.end(),
            [](const CheckpointFile& a, const CheckpointFile& b) {
              return a.name() < b.name();
            });
  return files;
}

std::string ShardCollector::Error(int64_t step) const {
  const auto found = steps_.find(step);
  if (found == steps_.end()) return "";
  for (const auto& [worker, report] : found->second) {
    if (!report.error().empty()) return report.error();
  }
  return "";
}

void ShardCollector::Settle(int64_t step) {
  steps_.erase(steps_.begin(), steps_.upper_bound(step));
}

}  // namespace gandem
