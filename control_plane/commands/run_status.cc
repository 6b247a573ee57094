// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/run_status.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/config/run_config.h"
#include "common/control/worker_position.h"
#include "common/files/file.h"
#include "common/files/rotation.h"
#include "common/results/round_history.h"
#include "common/status.h"
#include "control_plane/commands/control_endpoint.h"
#include "control_plane/commands/run_credentials.h"
#include "control_plane/commands/run_lock.h"
#include "control_plane/coordinator/control_service.h"
#include "control_plane/coordinator/run_files.h"
#include "control_plane/coordinator/state_name.h"
#include "control_plane/views/data_speeds.h"
#include "control_plane/views/fleet_speeds.h"
#include "control_plane/views/leading_ranks.h"
#include "control_plane/views/progress.h"

namespace gandem {
namespace {

absl::StatusOr<StatusReply> AskCoordinator(const std::string& run_dir,
                                           const std::string& certificates,
                                           absl::Time deadline) {
  GANDEM_ASSIGN_OR_RETURN(const std::string address,
                          ReadControlAddress(run_dir));
  GANDEM_ASSIGN_OR_RETURN(auto credentials,
                          CredentialsOfRun(run_dir, certificates));
  absl::StatusOr<StatusReply> reply =
      QueryStatus(address, std::move(credentials), deadline);
  if (!reply.ok()) return Annotate(reply.status(), address);
  return reply;
}

// The last lines; a file that has just begun goes on from the one before it.
std::string NewestMetrics(const std::string& run_dir) {
  constexpr int64_t kTailBytes = 64 << 10;
  const std::string path = run_dir + "/metrics.jsonl";
  std::string text = ReadFileTail(path, kTailBytes).value_or("");
  const int64_t missing = kTailBytes - static_cast<int64_t>(text.size());
  if (missing == 0) return text;
  return ReadFileTail(RotatedName(path, 1), missing).value_or("") + text;
}

// The newest record of each worker, and what the last rounds say of fleets and
// of the speed.
void AddLastRounds(const std::string& run_dir, int64_t images_per_round,
                   StatusReply& reply) {
  const std::string text = NewestMetrics(run_dir);
  std::map<WorkerKey, RoundMetrics> newest;
  FleetSpeeds fleets;
  DataSpeeds data;
  LeadingRanks leading;
  int64_t rounds = 0;
  double seconds = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    // The first line of the tail may be cut.
    const std::optional<RoundMetrics> metrics = ParseRoundMetrics(line);
    if (!metrics.has_value()) continue;
    newest[{metrics->role(), metrics->rank()}] = *metrics;
    fleets.Add(*metrics);
    data.Add(*metrics);
    if (metrics->role() != GENERATOR || !leading.Leads(*metrics)) continue;
    ++rounds;
    seconds += metrics->round_seconds();
  }
  if (seconds > 0) {
    reply.set_images_per_second(static_cast<double>(rounds * images_per_round) /
                                seconds);
  }
  for (const auto& [key, metrics] : newest) {
    WorkerStatus* const worker = reply.add_workers();
    worker->set_role(key.role);
    worker->set_rank(key.rank);
    worker->set_state(WorkerStatus::ABSENT);
    *worker->mutable_last() = metrics;
  }
  for (FleetStatus& fleet : fleets.Fleets()) {
    *reply.add_fleets() = std::move(fleet);
  }
  reply.set_limit(fleets.Limit());
  data.Complete(reply);
}

absl::StatusOr<StatusReply> ReadFiles(const std::string& run_dir) {
  GANDEM_ASSIGN_OR_RETURN(const RunConfig config, ReadRunConfig(run_dir));
  GANDEM_ASSIGN_OR_RETURN(const RunCounters counters, ReadRunCounters(run_dir));
  GANDEM_ASSIGN_OR_RETURN(const FoundCheckpoint newest,
                          FindCheckpoint(run_dir));
  StatusReply reply;
  reply.set_run_name(config.name());
  reply.set_rounds(config.rounds());
  reply.set_run_epoch(counters.run_epoch());
  reply.set_last_checkpoint_step(newest.step);
  reply.set_completed_rounds(newest.step);
  reply.set_state(newest.step >= config.rounds() ? StatusReply::FINISHED
                                                 : StatusReply::STOPPED);
  GANDEM_ASSIGN_OR_RETURN(const StatusReply failure, ReadRunFailure(run_dir));
  if (failure.state() == StatusReply::FAILED) {
    reply.set_state(StatusReply::FAILED);
    absl::StrAppend(reply.mutable_detail(), failure.detail(), "\n");
  }
  for (const std::string& skipped : newest.skipped_with_reason) {
    absl::StrAppend(reply.mutable_detail(), "damaged checkpoint ", skipped,
                    "\n");
  }
  AddLastRounds(run_dir, StepBatch(config.generator()), reply);
  return reply;
}

// Of a training that does not answer nobody knows what its workers do, and its
// records know more rounds than its newest checkpoint.
void TakeFromRecords(StatusReply& reply) {
  int64_t done = reply.rounds();
  for (WorkerStatus& worker : *reply.mutable_workers()) {
    worker.set_state(WorkerStatus::UNKNOWN);
    done = std::min(done, worker.last().round() + 1);
  }
  if (reply.workers().empty()) return;
  reply.set_completed_rounds(std::max(reply.completed_rounds(), done));
}

void AddRefusals(int64_t count, std::string& text) {
  if (count == 0) return;
  absl::StrAppend(&text, "  ", count,
                  " connections or calls refused, see its log");
}

std::string WorkerText(const WorkerStatus& worker) {
  std::string text =
      absl::StrFormat("  %-15s %-8s", ToString({worker.role(), worker.rank()}),
                      StateName(worker.state()));
  if (worker.pid() != 0) {
    absl::StrAppend(&text, "  process ", worker.pid(),
                    worker.host().empty() ? "" : " on ", worker.host());
  }
  if (worker.has_last()) {
    absl::StrAppendFormat(&text, "  round %d loss %.4f lag %d",
                          worker.last().round(), worker.last().loss(),
                          worker.last().lag());
  }
  if (worker.last().messages_damaged() > 0) {
    absl::StrAppend(&text, "  ", worker.last().messages_damaged(),
                    " damaged messages, sent again");
  }
  if (worker.position().wait() != WorkerPosition::NOTHING &&
      worker.position().seconds() > kLongWaitSeconds) {
    absl::StrAppend(&text, "  ", PositionText(worker.position()));
  }
  AddRefusals(worker.last().refused_connections(), text);
  return text;
}

}  // namespace

absl::StatusOr<StatusReply> GetRunStatus(const std::string& run_dir,
                                         const std::string& certificates,
                                         absl::Time deadline) {
  if (!RunLock::IsTaken(run_dir)) return ReadFiles(run_dir);
  const auto reply = AskCoordinator(run_dir, certificates, deadline);
  if (reply.ok()) return reply;
  GANDEM_ASSIGN_OR_RETURN(StatusReply files, ReadFiles(run_dir));
  if (files.state() != StatusReply::FINISHED) {
    files.set_state(StatusReply::UNREACHABLE);
    TakeFromRecords(files);
  }
  absl::StrAppend(
      files.mutable_detail(), "`gandem train` (", RunLock::Holder(run_dir),
      ") works on this folder but does not answer (", reply.status().message(),
      "): it starts, leaves or hangs; ask again, or see ", run_dir,
      "/logs/gandem.log");
  return files;
}

std::string RunStatusText(const std::string& run_dir,
                          const StatusReply& status) {
  ProgressView view;
  view.status = status;
  const std::string checkpoint =
      status.last_checkpoint_step() == 0
          ? "no checkpoint yet"
          : absl::StrCat("newest checkpoint: ", status.last_checkpoint_step(),
                         " rounds");
  std::string text =
      absl::StrCat(status.run_name(), " in ", run_dir, "\n  ",
                   ProgressLine(view), "\n  ", checkpoint, ", run epoch ",
                   status.run_epoch(), ", ", status.restarts(), " restarts");
  AddRefusals(status.refused_connections(), text);
  text += "\n";
  for (const WorkerStatus& worker : status.workers()) {
    absl::StrAppend(&text, WorkerText(worker), "\n");
  }
  if (!status.metrics_address().empty()) {
    absl::StrAppend(&text, "  metrics: http://", status.metrics_address(),
                    "/metrics\n");
  }
  absl::StrAppend(&text, FleetTable(status), DataLine(status));
  if (!status.limit().empty()) {
    absl::StrAppend(&text, "  ", status.limit(), "\n");
  }
  if (!status.detail().empty()) {
    absl::StrAppend(&text, "  ", status.detail(), "\n");
  }
  return text;
}

std::string RunStatusJson(const StatusReply& status) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto printed =
      google::protobuf::util::MessageToJsonString(status, &text, options);
  return printed.ok() ? text : "{}";
}

}  // namespace gandem
