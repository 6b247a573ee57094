// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/commands/run_status.h"

#include <google/protobuf/util/json_util.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/config/role_name.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/status.h"
#include "scaling_manager/commands/run_lock.h"
#include "scaling_manager/commands/status_client.h"
#include "scaling_manager/coordinator/run_counters.h"
#include "scaling_manager/coordinator/state_name.h"
#include "scaling_manager/views/fleet_speeds.h"
#include "scaling_manager/views/progress.h"

namespace gandem {
namespace {

using Json = nlohmann::json;

std::string AddressPath(const std::string& run_dir) {
  return run_dir + "/state/control.addr";
}

absl::StatusOr<StatusReply> AskCoordinator(const std::string& run_dir,
                                           absl::Time deadline) {
  GANDEM_ASSIGN_OR_RETURN(const std::string address,
                          ReadFile(AddressPath(run_dir), 4096));
  return QueryStatus(absl::StripAsciiWhitespace(address), deadline);
}

// The parts of a record that are shown; other programs may have written it.
RoundMetrics FromJson(const Json& json) {
  RoundMetrics metrics;
  const std::string role = json.value("role", "");
  metrics.set_role(role == "generator"       ? GENERATOR
                   : role == "discriminator" ? DISCRIMINATOR
                                             : ROLE_UNKNOWN);
  metrics.set_rank(json.value("rank", 0));
  metrics.set_run_epoch(json.value("run_epoch", int64_t{0}));
  metrics.set_round(json.value("round", int64_t{0}));
  const auto loss = json.find("loss");  // null when it was not finite
  metrics.set_loss(loss != json.end() && loss->is_number()
                       ? loss->get<double>()
                       : std::numeric_limits<double>::quiet_NaN());
  metrics.set_lag(json.value("lag", int64_t{0}));
  metrics.set_images(json.value("images", int64_t{0}));
  metrics.set_unix_seconds(json.value("unix_seconds", 0.0));
  metrics.set_round_seconds(json.value("round_seconds", 0.0));
  metrics.set_wait_images_seconds(json.value("wait_images_seconds", 0.0));
  metrics.set_wait_feedback_seconds(json.value("wait_feedback_seconds", 0.0));
  metrics.set_wait_data_seconds(json.value("wait_data_seconds", 0.0));
  metrics.set_wait_cache_seconds(json.value("wait_cache_seconds", 0.0));
  metrics.set_wait_sync_seconds(json.value("wait_sync_seconds", 0.0));
  return metrics;
}

// The newest record of each worker, and what the newest ones say of fleets.
struct LastRounds {
  std::map<std::pair<Role, int>, RoundMetrics> of_workers;  // by rank
  FleetSpeeds fleets;
};

LastRounds ReadLastRounds(const std::string& run_dir) {
  constexpr int64_t kTailBytes = 64 << 10;
  LastRounds last;
  const auto text = ReadFileTail(run_dir + "/metrics.jsonl", kTailBytes);
  if (!text.ok()) return last;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    const Json json = Json::parse(line.begin(), line.end(), nullptr, false);
    // The first line of the tail may be cut.
    if (!json.is_object()) continue;
    try {
      const RoundMetrics metrics = FromJson(json);
      if (metrics.role() == ROLE_UNKNOWN) continue;
      last.of_workers[{metrics.role(), metrics.rank()}] = metrics;
      last.fleets.Add(metrics);
    } catch (const Json::exception&) {
      // A line of another version.
    }
  }
  return last;
}

absl::StatusOr<StatusReply> ReadFiles(const std::string& run_dir) {
  const std::string config_path = run_dir + "/config.textproto";
  if (!PathExists(config_path)) {
    return absl::NotFoundError(absl::StrCat(
        "'", run_dir, "' holds no run (there is no config.textproto)"));
  }
  GANDEM_ASSIGN_OR_RETURN(const RunConfig config,
                          LoadRunConfig(config_path, {}));
  GANDEM_ASSIGN_OR_RETURN(const RunCounters counters, ReadRunCounters(run_dir));
  const auto newest = FindNewestCheckpoint(run_dir);
  if (!newest.ok() && !absl::IsNotFound(newest.status())) {
    return newest.status();
  }
  StatusReply reply;
  reply.set_run_name(config.name());
  reply.set_rounds(config.rounds());
  reply.set_run_epoch(counters.run_epoch());
  const int64_t step = newest.ok() ? newest->step : 0;
  reply.set_last_checkpoint_step(step);
  reply.set_completed_rounds(step);
  reply.set_state(step >= config.rounds() ? StatusReply::FINISHED
                                          : StatusReply::STOPPED);
  if (newest.ok()) {
    for (const std::string& skipped : newest->skipped_with_reason) {
      absl::StrAppend(reply.mutable_detail(), "damaged checkpoint ", skipped,
                      "\n");
    }
  }
  const LastRounds last = ReadLastRounds(run_dir);
  for (const auto& [key, metrics] : last.of_workers) {
    WorkerStatus* const worker = reply.add_workers();
    worker->set_role(key.first);
    worker->set_rank(key.second);
    worker->set_state(WorkerStatus::ABSENT);
    *worker->mutable_last() = metrics;
  }
  for (FleetStatus& fleet : last.fleets.Fleets()) {
    *reply.add_fleets() = std::move(fleet);
  }
  return reply;
}

std::string WorkerText(const WorkerStatus& worker) {
  std::string text = absl::StrFormat(
      "  %-15s %-8s", absl::StrCat(RoleName(worker.role()), " ", worker.rank()),
      StateName(worker.state()));
  if (worker.state() != WorkerStatus::ABSENT) {
    absl::StrAppend(&text, "  process ", worker.pid(),
                    worker.host().empty() ? "" : " on ", worker.host());
  }
  if (worker.has_last()) {
    absl::StrAppendFormat(&text, "  round %d loss %.4f lag %d",
                          worker.last().round(), worker.last().loss(),
                          worker.last().lag());
  }
  return text;
}

}  // namespace

absl::Status WriteControlAddress(const std::string& run_dir,
                                 const std::string& address) {
  return WriteFileDurably(AddressPath(run_dir), address + "\n");
}

void RemoveControlAddress(const std::string& run_dir) {
  RemoveAll(AddressPath(run_dir)).IgnoreError();
}

absl::StatusOr<StatusReply> GetRunStatus(const std::string& run_dir,
                                         absl::Time deadline) {
  if (RunLock::IsTaken(run_dir)) {
    auto reply = AskCoordinator(run_dir, deadline);
    if (reply.ok()) return reply;
  }
  return ReadFiles(run_dir);
}

std::string RunStatusText(const std::string& run_dir,
                          const StatusReply& status) {
  ProgressView view;
  view.status = status;
  std::string text = absl::StrCat(status.run_name(), " in ", run_dir, "\n  ",
                                  ProgressLine(view), "\n  ");
  if (status.last_checkpoint_step() == 0) {
    absl::StrAppend(&text, "no checkpoint yet");
  } else {
    absl::StrAppend(&text, "newest checkpoint: ", status.last_checkpoint_step(),
                    " rounds");
  }
  absl::StrAppend(&text, ", run epoch ", status.run_epoch(), ", ",
                  status.restarts(), " restarts\n");
  for (const WorkerStatus& worker : status.workers()) {
    absl::StrAppend(&text, WorkerText(worker), "\n");
  }
  absl::StrAppend(&text, FleetTable(status));
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
