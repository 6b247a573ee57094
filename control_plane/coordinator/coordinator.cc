// SPDX-License-Identifier: Apache-2.0
//
// Effects of the epoch machine, and the calls of the launcher. The calls of the
// workers are in coordinator_calls.cc.
#include "control_plane/coordinator/coordinator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/process/failpoint.h"
#include "common/results/run_folder.h"
#include "common/status.h"
#include "control_plane/coordinator/joining.h"

namespace gandem {
namespace {

// A longer gap between two events means that the process did not run.
constexpr absl::Duration kLongestEventGap = absl::Seconds(5);
constexpr absl::Duration kShortestEventGap = absl::Milliseconds(500);

// Returns the gap between events that counts as a pause of this process: half
// the shortest timeout, so that workers can report before they count as dead.
absl::Duration LongestGap(const EpochOptions& options) {
  absl::Duration shortest_timeout = options.heartbeat_timeout;
  if (options.progress_timeout > absl::ZeroDuration()) {
    shortest_timeout = std::min(shortest_timeout, *options.progress_timeout);
  }
  return std::clamp(shortest_timeout / 2, kShortestEventGap, kLongestEventGap);
}

}  // namespace

Coordinator::Coordinator(Options options, const RunCounters& counters,
                         FolderProof proof)
    : options_(std::move(options)),
      proof_(std::move(proof)),
      longest_gap_(LongestGap(options_.epoch)),
      disk_({.run_dir = options_.run_dir,
             .keep_last = options_.keep_last,
             .keep_every = options_.keep_every},
            options_.evaluate_every, options_.epoch.rounds),
      machine_(options_.epoch, counters),
      counters_(counters),
      last_event_(options_.clock->Now()) {}

absl::StatusOr<std::unique_ptr<Coordinator>> Coordinator::Create(
    Options options) {
  GANDEM_ASSIGN_OR_RETURN(const RunCounters counters,
                          RunFolder(options.run_dir).ReadCounters());
  GANDEM_ASSIGN_OR_RETURN(FolderProof proof,
                          RunFolder(options.run_dir).RenewProof());
  std::unique_ptr<Coordinator> coordinator(
      new Coordinator(std::move(options), counters, std::move(proof)));
  absl::MutexLock lock(&coordinator->mu_);
  GANDEM_ASSIGN_OR_RETURN(const EpochBegun begun, coordinator->StartEpoch({}));
  coordinator->Apply(begun);
  return coordinator;
}

absl::Time Coordinator::Now() {
  const absl::Time now = options_.clock->Now();
  const absl::Duration gap = now - std::exchange(last_event_, now);
  if (gap > longest_gap_) not_running_ += gap;
  return now - not_running_;
}

EpochEffects Coordinator::Apply(const EpochEvent& event) {
  const absl::Time now = Now();
  const EpochEffects first = machine_.On(event, now);
  EpochEffects effects = first;
  while (true) {
    Tell(std::move(effects.news));
    if (effects.rounds_begin) BeginRounds();
    if (effects.mark_last_good) {
      effects = machine_.On(
          LastGoodMarked{MarkLastGood(options_.run_dir, healthy_rounds_)}, now);
    } else if (effects.start.has_value()) {
      const auto begun = StartEpoch(*effects.start);
      effects = begun.ok() ? machine_.On(*begun, now)
                           : machine_.On(EpochFailed{begun.status()}, now);
    } else {
      return first;
    }
  }
}

absl::StatusOr<EpochBegun> Coordinator::StartEpoch(const EpochStart& start) {
  RunCounters next = counters_;
  next.set_run_epoch(next.run_epoch() + 1);
  FoundCheckpoint newest;
  if (!start.from_memory) {
    GANDEM_RETURN_IF_ERROR(RemovePending(options_.run_dir));
    GANDEM_ASSIGN_OR_RETURN(newest,
                            RunFolder(options_.run_dir).NewestCheckpoint());
    next.set_first_round(newest.step);
    next.set_rollbacks(newest.manifest.rollbacks());
    // Count the rollback if the run has rolled back to this checkpoint before.
    if (start.rolls_back || counters_.first_round() == newest.step) {
      next.set_rollbacks(std::max(next.rollbacks(), counters_.rollbacks()) +
                         (start.rolls_back ? 1 : 0));
    }
  }
  GANDEM_RETURN_IF_ERROR(RunFolder(options_.run_dir).WriteCounters(next));
  GANDEM_FAILPOINT("coordinator.after_epoch");
  counters_ = next;
  if (!start.from_memory) {
    for (const std::string& skipped : newest.skipped_with_reason) {
      Tell({absl::StrCat("skipped a damaged checkpoint: ", skipped)});
    }
    resume_from_ = newest.path;
    numerics_before_ = {newest.manifest.numerics().begin(),
                        newest.manifest.numerics().end()};
  }
  return EpochBegun{.start = start,
                    .run_epoch = next.run_epoch(),
                    .first_round = newest.step,
                    .rollbacks = next.rollbacks()};
}

void Coordinator::BeginRounds() {
  // All members have joined this run epoch, so no worker still writes files of
  // an older epoch, and none has started to write files of this one.
  const absl::Status removed = RemovePending(options_.run_dir);
  if (!removed.ok()) Tell({std::string(removed.message())});
  GANDEM_FAILPOINT("coordinator.after_join");
  const Membership& members = machine_.members();
  computes_.clear();
  for (const Place& place : members.places()) {  // keeps the first member of
                                                 // each role
    if (place.is_member) computes_.emplace(place.key.role, place.compute);
  }
  const bool is_resumed = members.source() == Membership::Source::kCheckpoint;
  if (!is_resumed) numerics_before_.clear();
  numerics_ = MemberNumerics(members);
  const std::string warning = WarnOfMachines(numerics_before_, members);
  if (!warning.empty()) Tell({warning});
}

absl::Status Coordinator::WriteCounters(const RunCounters& next) {
  const absl::Status written =
      Annotate(RunFolder(options_.run_dir).WriteCounters(next),
               "the coordinator cannot write its counters");
  if (written.ok()) counters_ = next;
  if (!DiskMayRecover(written)) return written;
  return absl::UnavailableError(written.message());
}

void Coordinator::CommitAll() {
  while (true) {
    std::optional<CheckpointCommits::Job> job;
    CheckpointManifest manifest;
    {
      absl::MutexLock lock(&mu_);
      job = machine_.TakeJob(Now());
      if (!job.has_value()) return;
      manifest.set_config_hash(options_.config_hash);
      manifest.set_rollbacks(counters_.rollbacks());
      manifest.mutable_numerics()->Assign(numerics_.begin(), numerics_.end());
    }
    const absl::Status done = disk_.Commit(*job, std::move(manifest));
    {
      absl::MutexLock lock(&mu_);
      if (!Apply(CheckpointWritten{*job, done}).verdict.ok()) return;
    }
    std::vector<std::string> notes = disk_.TidyUp(*job, done);
    absl::MutexLock lock(&mu_);
    Tell(std::move(notes));
    Apply(CheckpointSettled{*job, done});
  }
}

void Coordinator::WorkerStarted(WorkerKey key, int64_t pid) {
  absl::MutexLock lock(&mu_);
  Apply(ProcessStarted{key, pid});
}

void Coordinator::WorkerExited(WorkerKey key, int exit_code,
                               const std::string& how) {
  absl::MutexLock lock(&mu_);
  Apply(WorkerDied{.key = key,
                   .why = how,
                   .exit_code = exit_code,
                   .process_is_gone = true,
                   .was_reaped = true});
}

Coordinator::Wishes Coordinator::TakeWishes() {
  absl::MutexLock lock(&mu_);
  return machine_.TakeWishes(Now());
}

void Coordinator::RequestStop(const std::string& reason) {
  absl::MutexLock lock(&mu_);
  Apply(StopWanted{reason});
}

std::vector<std::string> Coordinator::Tick() {
  CommitAll();
  absl::MutexLock lock(&mu_);
  Apply(TimePassed());
  return std::exchange(news_, {});
}

std::optional<RunOutcome> Coordinator::outcome() {
  absl::MutexLock lock(&mu_);
  return machine_.outcome();
}

int64_t Coordinator::first_round() {
  absl::MutexLock lock(&mu_);
  return machine_.first_round();
}

void Coordinator::Tell(std::vector<std::string> news) {
  for (std::string& line : news) news_.push_back(std::move(line));
}

void Coordinator::TellRefusal(absl::string_view what) {
  const std::optional<int64_t> untold = refusals_.Pass(options_.clock->Now());
  if (!untold.has_value()) return;
  Tell({absl::StrCat(
      "refused: ", what,
      *untold == 0 ? "" : absl::StrCat(" (and ", *untold, " more before)"))});
}

}  // namespace gandem
