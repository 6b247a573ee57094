// SPDX-License-Identifier: Apache-2.0
//
// The commits of checkpoints whose shards are all reported, and what happens
// when the workers of a role turn out to have different states.
#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/checkpoint/checkpoint_shards.h"
#include "common/files/file.h"
#include "common/status.h"
#include "control_plane/coordinator/coordinator.h"

namespace gandem {
namespace {

constexpr size_t kNamed = 8;  // workers, in a message
// A worker that has left its fleet so often is at fault itself.
constexpr int kMaxPartings = 2;
constexpr size_t kShownTensors = 3;

// "'model.a', 'model.b' and 'model.c' and 4 more"
std::string TensorsText(const absl::StatusOr<std::vector<std::string>>& names) {
  if (!names.ok() || names->empty()) return "tensors that cannot be told";
  const auto shown =
      std::span(*names).first(std::min(names->size(), kShownTensors));
  const size_t rest = names->size() - shown.size();
  return absl::StrCat("'", absl::StrJoin(shown, "', '"), "'",
                      rest > 0 ? absl::StrCat(" and ", rest, " more") : "");
}

}  // namespace

void Coordinator::CommitAll() {
  while (true) {
    std::optional<CheckpointCommits::Job> job;
    {
      absl::MutexLock lock(&mu_);
      job = commits_.Take(options_.clock->Now());
      if (job.has_value()) {
        job->rollbacks = counters_.rollbacks();
        job->numerics = numerics_;
      }
    }
    if (!job.has_value()) return;
    absl::Status committed;
    {
      absl::MutexLock lock(&disk_mu_);
      committed = Commit(*job);
    }
    {
      absl::MutexLock lock(&mu_);
      if (TriesAgain(*job, committed)) return;
    }
    std::vector<std::string> notes;
    {
      absl::MutexLock lock(&disk_mu_);
      notes = TidyUp(*job, committed);
    }
    absl::MutexLock lock(&mu_);
    Settle(*job, committed, std::move(notes));
  }
}

bool Coordinator::TriesAgain(CheckpointCommits::Job& job,
                             const absl::Status& committed) {
  if (!DiskMayRecover(committed) || job.step != stopping_.goal() ||
      phase_ == Phase::kOver) {
    return false;
  }
  const absl::Time now = options_.clock->Now();
  if (job.give_up_at == absl::InfiniteFuture()) {
    job.give_up_at = now + options_.grace;
    AddEvent(absl::StrCat("the last checkpoint, of ", job.step,
                          " rounds, could not be written: ",
                          committed.message(), PatienceText()));
  }
  if (now >= job.give_up_at) return false;
  job.next_try = now + kDiskRetryInterval;
  commits_.PutBack(std::move(job));
  return true;
}

std::string Coordinator::PatienceText() const {
  return absl::StrCat(". Trying again for ",
                      absl::FormatDuration(options_.grace),
                      " (control.grace_seconds)");
}

std::vector<std::string> Coordinator::TidyUp(const CheckpointCommits::Job& job,
                                             const absl::Status& committed) {
  std::vector<std::string> notes;
  const auto note = [&notes](const std::string& what,
                             const absl::Status& done) {
    if (!done.ok()) notes.push_back(absl::StrCat(what, done.message()));
  };
  if (!committed.ok()) {  // gives the space back, on a full disk above all
    note("", RemoveAll(PendingCheckpointPath(options_.run_dir, job.step,
                                             job.run_epoch)));
    return notes;
  }
  if (snapshots_.has_value()) {
    note("the checkpoint cannot be kept to be judged: ",
         snapshots_->KeepDue(job.step));
  }
  note("old checkpoints could not be removed: ",
       PruneCheckpoints(options_.run_dir, job.step, options_.keep_last,
                        options_.keep_every));
  return notes;
}

absl::Status Coordinator::Commit(const CheckpointCommits::Job& job) const {
  if (job.parting.has_value()) {
    const std::string folder =
        PendingCheckpointPath(options_.run_dir, job.step, job.run_epoch);
    return absl::DataLossError(absl::StrCat(
        job.shards.message(), " after round ", job.step - 1, " in ",
        TensorsText(DifferingTensors(folder, job.parting->files))));
  }
  GANDEM_RETURN_IF_ERROR(job.shards);
  CheckpointManifest manifest;
  manifest.set_step(job.step);
  manifest.set_run_epoch(job.run_epoch);
  manifest.set_config_hash(options_.config_hash);
  manifest.set_rollbacks(job.rollbacks);
  manifest.mutable_numerics()->Assign(job.numerics.begin(), job.numerics.end());
  manifest.mutable_files()->Assign(job.files.begin(), job.files.end());
  return CommitCheckpoint(options_.run_dir, manifest);
}

std::string Coordinator::IncompleteText(
    const CheckpointCommits::Incomplete& checkpoint) const {
  std::vector<std::string> missing;
  for (int i = 0; i < std::ssize(members_.places()); ++i) {
    const Place& place = members_.places()[i];
    if (place.is_member && !checkpoint.reported.contains(i)) {
      missing.push_back(ToString(place.key));
    }
  }
  const size_t unnamed = missing.size() - std::min(missing.size(), kNamed);
  missing.resize(missing.size() - unnamed);
  return absl::StrCat(
      "the checkpoint of ", checkpoint.step, " rounds lacks the shards of ",
      absl::StrJoin(missing, ", "),
      unnamed == 0 ? "" : absl::StrCat(" and ", unnamed, " other workers"));
}

std::string Coordinator::LostRoundsText(int64_t first_round) const {
  int64_t completed = 0;
  for (const Place& place : members_.places()) {
    completed = std::max(completed, place.progress.completed_rounds());
  }
  if (completed <= first_round) return "";
  const auto incomplete = commits_.OldestIncomplete();
  return absl::StrCat(
      "; ", completed - first_round, " completed rounds are repeated",
      incomplete.has_value() ? ", because " + IncompleteText(*incomplete) : "");
}

void Coordinator::Settle(const CheckpointCommits::Job& job,
                         const absl::Status& committed,
                         std::vector<std::string> notes) {
  const std::string text = commits_.Settle(job, committed);
  if (committed.ok()) {
    AddEvent(text);
  } else if (job.parting.has_value()) {
    parting_ = {*job.parting, std::string(committed.message())};
  } else if (!parting_.has_value()) {
    stopping_.NoteFailure(text);
    AddEvent(absl::StrCat(text, ". ", commits_.NewestText()));
  }
  for (std::string& note : notes) AddEvent(std::move(note));
  // A checkpoint that a parting has spoiled does not end the run.
  if (!parting_.has_value()) Advance();
  if (commits_.is_busy()) return;
  if (parting_.has_value()) {
    HandleParting(parting_->first, parting_->second);
    parting_.reset();
  }
  for (const auto& [key, death] : std::exchange(deaths_, {})) {
    HandleDeath(*members_.Find(key), death);
  }
}

void Coordinator::HandleParting(const CheckpointCommits::Parting& parting,
                                const std::string& text) {
  if (phase_ == Phase::kOver) return;
  std::vector<std::string> names;
  for (const size_t i : parting.apart) {
    names.push_back(NameWithHost(members_.places()[parting.workers[i]]));
  }
  std::vector<OwnedNumerics> machines;
  for (const int worker : parting.workers) {
    const Place& place = members_.places()[worker];
    machines.push_back(
        {.owner = NameWithHost(place), .numerics = NumericsOf(place)});
  }
  const std::string unlike = NumericsDifferences(machines);
  const bool is_known = parting.apart.size() < parting.workers.size();
  const std::string what = absl::StrCat(
      text, ". ", absl::StrJoin(names, " and "),
      !is_known           ? " cannot tell which of them is right"
      : names.size() == 1 ? " differs from most of its fleet"
                          : " differ from most of their fleet",
      ". ",
      unlike.empty() ? "A memory, a processor or a program is at fault"
                     : absl::StrCat("Their machines are not alike: ", unlike));
  stopping_.NoteFailure(what);
  if (phase_ == Phase::kStopping) {
    End(ResumableOutcome(what, commits_));
    return;
  }
  std::vector<Place*> apart;
  for (const size_t i : parting.apart) {
    apart.push_back(&members_.places()[parting.workers[i]]);
  }
  if (is_known) Blame(apart, what);
  if (phase_ == Phase::kOver) return;
  const Place& first = members_.places()[parting.workers[parting.apart[0]]];
  if (restarts_.Spend(first.key, options_.clock->Now())) {
    BeginEpoch(what);
  } else {
    End({StatusReply::FAILED, kExitInternal,
         absl::StrCat(what, "; ", restarts_.UsedUpText(), ". ",
                      commits_.NewestText())});
  }
}

// The run must not continue from memory, not even from that of the majority: it
// has summed up gradients of the worker that is at fault.
void Coordinator::LeaveMemory(Role role, const std::vector<int>& ranks_apart,
                              const std::string& what) {
  std::vector<Place*> apart;
  for (const int rank : ranks_apart) {
    apart.push_back(members_.Find({role, rank}));
  }
  if (std::ssize(apart) < members_.NumMembers(role)) Blame(apart, what);
  if (phase_ != Phase::kOver) BeginEpoch(what);
}

void Coordinator::Blame(const std::vector<Place*>& apart,
                        const std::string& what) {
  for (Place* const place : apart) {
    if (++place->partings >= kMaxPartings) Exclude(*place, what);
  }
}

void Coordinator::Exclude(Place& place, const std::string& what) {
  const std::string again = absl::StrCat(
      "This is at least the second time for ", NameWithHost(place));
  if (!options_.elastic) {
    End({StatusReply::FAILED, kExitInternal,
         absl::StrCat(what, ". ", again, ": let another machine take its ",
                      "place, and the same command resumes the run. ",
                      commits_.NewestText())});
    return;
  }
  AddEvent(absl::StrCat(again, ": it is excluded from the run"));
  place.is_excluded = true;
  place.incarnation = 0;
  if (place.pid == 0) return;
  place.death_handled = true;
  place.kill_at = options_.clock->Now();
}

}  // namespace gandem
