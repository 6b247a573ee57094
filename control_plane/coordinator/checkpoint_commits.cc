// SPDX-License-Identifier: Apache-2.0
#include "control_plane/coordinator/checkpoint_commits.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/control/majority.h"
#include "common/faults.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr int64_t kMaxFiles = 1000;

// Returns whether `name` is a file in the checkpoint's folder, not the
// manifest.
bool IsShardName(const std::string& name) {
  return !name.empty() && name.size() <= 255 && name[0] != '.' &&
         name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos && name != kManifestName;
}

}  // namespace

void CheckpointCommits::BeginEpoch(int64_t run_epoch, int num_workers,
                                   int64_t committed_step) {
  GANDEM_CHECK(!is_busy());
  run_epoch_ = run_epoch;
  num_workers_ = num_workers;
  reports_.clear();
  has_parted_ = false;
  committed_step_ = settled_step_ = complete_step_ = committed_step;
}

absl::Status CheckpointCommits::Check(int worker,
                                      const ShardReport& report) const {
  Faults faults("shard report");
  faults.CheckRange("step", report.step(), 1, rounds_);
  faults.CheckRange("number of files", report.files_size(), 0, kMaxFiles);
  if (report.error().empty() && report.files().empty()) {
    faults.Add("it has neither files nor an error");
  }
  std::set<std::string> names;
  if (const auto step = reports_.find(report.step()); step != reports_.end()) {
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

absl::StatusOr<bool> CheckpointCommits::Add(int worker,
                                            const ShardReport& report) {
  if (report.step() >= 1 && report.step() <= complete_step_) return false;
  GANDEM_RETURN_IF_ERROR(Check(worker, report));
  Reports& reports = reports_[report.step()];
  reports[worker] = report;
  if (static_cast<int>(reports.size()) < num_workers_) return true;
  Job job{.step = report.step(), .run_epoch = run_epoch_};
  for (const auto& [reporter, its] : reports) {
    job.files.insert(job.files.end(), its.files().begin(), its.files().end());
    if (job.shards.ok() && !its.error().empty()) {
      job.shards = absl::DataLossError(its.error());
    }
  }
  if (job.shards.ok()) CompareStates(reports, job);
  std::ranges::sort(job.files, {}, &CheckpointFile::name);
  complete_step_ = job.step;
  reports_.erase(reports_.begin(), reports_.upper_bound(job.step));
  waiting_.push_back(std::move(job));
  return true;
}

void CheckpointCommits::CompareStates(const Reports& reports, Job& job) {
  if (has_parted_) {
    job.shards =
        absl::DataLossError("the states of a role's workers differed before");
    return;
  }
  struct Fleet {
    Parting parting;
    std::vector<uint32_t> states;
  };
  std::map<std::string, Fleet> fleets;  // by role name
  for (const auto& [worker, report] : reports) {
    for (const CheckpointFile& file : report.files()) {
      if (!file.has_state_crc32c()) continue;
      Fleet& fleet = fleets[file.name().substr(0, file.name().rfind('-'))];
      fleet.parting.workers.push_back(worker);
      fleet.parting.files.push_back(file.name());
      fleet.states.push_back(file.state_crc32c());
    }
  }
  for (auto& [role, fleet] : fleets) {
    fleet.parting.apart = OutsideMajority(fleet.states);
    if (fleet.parting.apart.empty()) continue;
    has_parted_ = true;
    job.shards = absl::DataLossError(
        absl::StrCat("the states of the ", role, " workers differ"));
    job.parting = std::move(fleet.parting);
    return;
  }
}

std::optional<CheckpointCommits::Job> CheckpointCommits::Take(absl::Time now) {
  if (is_taken_ || waiting_.empty() || now < waiting_.front().next_try) {
    return std::nullopt;
  }
  is_taken_ = true;
  Job job = std::move(waiting_.front());
  waiting_.pop_front();
  return job;
}

void CheckpointCommits::PutBack(Job job) {
  GANDEM_CHECK(is_taken_);
  is_taken_ = false;
  waiting_.push_front(std::move(job));
}

std::string CheckpointCommits::Settle(const Job& job,
                                      const absl::Status& done) {
  GANDEM_CHECK(is_taken_);
  is_taken_ = false;
  settled_step_ = job.step;
  if (!done.ok()) {
    return absl::StrCat("the checkpoint of ", job.step,
                        " rounds could not be written: ", done.message());
  }
  committed_step_ = job.step;
  return absl::StrCat("checkpoint of ", job.step, " rounds is complete");
}

std::string CheckpointCommits::NewestText() const {
  if (committed_step_ == 0) return "There is no checkpoint yet";
  return absl::StrCat("The newest checkpoint has ", committed_step_, " of ",
                      rounds_, " rounds");
}

}  // namespace gandem
