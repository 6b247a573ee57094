// SPDX-License-Identifier: Apache-2.0
#include "control_plane/monitoring/run_metrics.h"

#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/config/role_name.h"
#include "common/version.h"
#include "control_plane/coordinator/state_name.h"

namespace gandem {
namespace {

using Labels = std::vector<prometheus::ClientMetric::Label>;
using prometheus::MetricType;

class MetricList {
 public:
  // Begins a metric: a counter if its name ends in _total, otherwise a gauge.
  void Begin(const char* name, const char* help) {
    const bool counts = absl::EndsWith(name, "_total");
    families_.push_back(
        {name, help, counts ? MetricType::Counter : MetricType::Gauge, {}});
  }
  // Adds a sample to the metric that was begun last.
  void Sample(double value, Labels labels = {}) {
    prometheus::ClientMetric sample;
    sample.label = std::move(labels);
    (families_.back().type == MetricType::Counter ? sample.counter.value
                                                  : sample.gauge.value) = value;
    families_.back().metric.push_back(std::move(sample));
  }
  // Adds a metric with one sample, or without samples if the value is unknown.
  template <typename Value>
  void Single(const char* name, const std::optional<Value>& value,
              const char* help) {
    Begin(name, help);
    if (value.has_value()) Sample(static_cast<double>(*value));
  }
  template <typename Value>
  void Single(const char* name, Value value, const char* help) {
    Single(name, std::optional(value), help);
  }
  std::vector<prometheus::MetricFamily> Take() { return std::move(families_); }

 private:
  std::vector<prometheus::MetricFamily> families_;
};

Labels OfRole(Role role) { return {{"role", RoleName(role)}}; }
Labels OfWorker(Role role, int rank) {
  return {{"role", RoleName(role)}, {"rank", absl::StrCat(rank)}};
}

void AddRun(const StatusReply& status, MetricList& list) {
  list.Begin("gandem_run_info", "The run's name and gandem's release; 1");
  list.Sample(1, {{"run", status.run_name()},
                  {"version", std::string(GandemVersion())}});
  list.Begin("gandem_run_state", "1 for the state that the run is in");
  for (int i = StatusReply::STARTING; i <= StatusReply::FAILED; ++i) {
    const auto state = static_cast<StatusReply::State>(i);
    list.Sample(status.state() == state, {{"state", StateName(state)}});
  }
  list.Single("gandem_run_epoch", status.run_epoch(),
              "Run epoch: a new one after a death or a rollback");
  list.Single("gandem_planned_rounds", status.rounds(),
              "Rounds that the run is to have");
  list.Single("gandem_completed_rounds", status.completed_rounds(),
              "Rounds that all workers have completed; falls with a restart "
              "from a checkpoint");
  list.Single("gandem_images_per_second", status.images_per_second(),
              "Generated images that are trained on in a second, of late");
  list.Single("gandem_remaining_seconds", status.eta_seconds(),
              "Until the last round, at the speed of late; 0: not known");
  list.Single("gandem_restarts_total", status.restarts(),
              "Workers that died and were started again, since gandem train "
              "was started");
  list.Single("gandem_rollbacks_total", status.rollbacks(),
              "How often the run went back because it had diverged");
  list.Single("gandem_refused_connections_total", status.refused_connections(),
              "Connections and calls without the run's token or certificate");
}

void AddWorkers(const StatusReply& status, MetricList& list) {
  std::map<std::pair<Role, WorkerStatus::State>, int> counts;
  for (const WorkerStatus& worker : status.workers()) {
    for (int i = WorkerStatus::ABSENT; i <= WorkerStatus::FINISHED; ++i) {
      const auto state = static_cast<WorkerStatus::State>(i);
      counts[{worker.role(), state}] += worker.state() == state;
    }
  }
  list.Begin("gandem_workers", "Workers of a role in a state");
  for (const auto& [key, count] : counts) {
    list.Sample(count, {{"role", RoleName(key.first)},
                        {"state", StateName(key.second)}});
  }
  list.Begin("gandem_worker_silent_seconds",
             "Since the worker's last heartbeat");
  for (const WorkerStatus& worker : status.workers()) {
    if (worker.state() == WorkerStatus::ABSENT) continue;
    list.Sample(worker.silent_seconds(),
                OfWorker(worker.role(), worker.rank()));
  }
  list.Begin("gandem_worker_resident_bytes", "Memory of the worker's process");
  for (const WorkerStatus& worker : status.workers()) {
    if (worker.resident_bytes() == 0) continue;
    Labels labels = OfWorker(worker.role(), worker.rank());
    labels.push_back({"host", worker.host()});
    list.Sample(static_cast<double>(worker.resident_bytes()),
                std::move(labels));
  }
}

void AddTotals(const RunTotals& totals, MetricList& list) {
  using Totals = RunTotals::RoleTotals;
  const auto add = [&](const char* name, const char* help, auto value) {
    list.Begin(name, help);
    for (const auto& [role, sums] : totals.roles()) {
      list.Sample(static_cast<double>(value(sums)), OfRole(role));
    }
  };
  add("gandem_rounds_total",
      "Rounds that the role has done, those that were done again included",
      [](const Totals& sums) { return sums.rounds; });
  add("gandem_images_total", "Images that the role has trained on",
      [](const Totals& sums) { return sums.images; });
  add("gandem_round_seconds_total", "Time in rounds, of all ranks together",
      [](const Totals& sums) { return sums.seconds.round; });
  add("gandem_updates_skipped_total",
      "FLOAT16: updates that were skipped because a gradient was not finite",
      [](const Totals& sums) { return sums.updates_skipped; });
  add("gandem_records_dropped_total",
      "Records of rounds that a full queue has dropped",
      [](const Totals& sums) { return sums.records_dropped; });
  list.Begin("gandem_wait_seconds_total",
             "Parts of gandem_round_seconds_total spent waiting, by "
             "what for");
  for (const auto& [role, sums] : totals.roles()) {
    const std::pair<const char*, double> parts[] = {
        {"images", sums.seconds.images},
        {"feedback", sums.seconds.feedback},
        {"data", sums.seconds.data},
        {"cache", sums.seconds.cache},
        {"sync", sums.seconds.sync}};
    for (const auto& [what, seconds] : parts) {
      list.Sample(seconds, {{"role", RoleName(role)}, {"for", what}});
    }
  }
  list.Begin("gandem_waiting_share",
             "Part of the newest rounds that the role has waited");
  for (const auto& [role, sums] : totals.roles()) {
    list.Sample(totals.WaitingShare(role), OfRole(role));
  }
}

void AddNewest(const RunTotals& totals, MetricList& list) {
  const auto add = [&](const char* name, const char* help, auto value) {
    list.Begin(name, help);
    for (const auto& [worker, metrics] : totals.newest()) {
      list.Sample(static_cast<double>(value(metrics)),
                  OfWorker(worker.first, worker.second));
    }
  };
  add("gandem_loss", "Mean over the steps of the worker's newest round",
      [](const RoundMetrics& metrics) { return metrics.loss(); });
  add("gandem_gradient_norm", "L2 norm before clipping, of the newest round",
      [](const RoundMetrics& metrics) { return metrics.gradient_norm(); });
  add("gandem_learning_rate", "Learning rate of the newest round",
      [](const RoundMetrics& metrics) { return metrics.learning_rate(); });
  add("gandem_lag_rounds", "Rounds between the version used and the newest",
      [](const RoundMetrics& metrics) { return metrics.lag(); });
  add("gandem_last_round_timestamp_seconds",
      "When the worker's newest round ended",
      [](const RoundMetrics& metrics) { return metrics.unix_seconds(); });
}

void AddFolder(const StatusReply& status, const FolderFacts& folder,
               MetricList& list) {
  list.Single("gandem_checkpoint_rounds", status.last_checkpoint_step(),
              "Rounds of the newest complete checkpoint; 0: there is none");
  list.Begin("gandem_checkpoint_timestamp_seconds",
             "When the newest checkpoint was completed");
  if (folder.checkpoint_time.has_value()) {
    list.Sample(
        absl::ToDoubleSeconds(*folder.checkpoint_time - absl::UnixEpoch()));
  }
  list.Single("gandem_run_folder_free_bytes", folder.free_bytes,
              "Free on the disk of the run folder");
  list.Single("gandem_run_folder_size_bytes", folder.size_bytes,
              "Size of the disk of the run folder");
}

}  // namespace

FolderFacts ReadFolderFacts(const std::string& run_dir,
                            int64_t checkpoint_step) {
  FolderFacts facts;
  std::error_code error;
  const auto space = std::filesystem::space(run_dir, error);
  if (!error) {
    facts.free_bytes = static_cast<int64_t>(space.available);
    facts.size_bytes = static_cast<int64_t>(space.capacity);
  }
  // The manifest is the last file of a checkpoint to be written.
  const std::string manifest = absl::StrCat(
      CheckpointPath(run_dir, checkpoint_step), "/", kManifestName);
  struct stat file = {};
  if (checkpoint_step > 0 && stat(manifest.c_str(), &file) == 0) {
    facts.checkpoint_time = absl::TimeFromTimespec(file.st_mtim);
  }
  return facts;
}

std::vector<prometheus::MetricFamily> RunMetrics(const RunSnapshot& run) {
  MetricList list;
  AddRun(run.status, list);
  AddWorkers(run.status, list);
  list.Single("gandem_coordinator_resident_bytes", run.own_bytes,
              "Memory of gandem train");
  AddTotals(run.totals, list);
  AddNewest(run.totals, list);
  AddFolder(run.status, run.folder, list);
  return list.Take();
}

}  // namespace gandem
