// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/run_status.h"

#include <google/protobuf/util/json_util.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/control/worker_position.h"
#include "common/results/run_folder.h"
#include "common/status.h"
#include "control_plane/commands/run_credentials.h"
#include "control_plane/coordinator/control_service.h"
#include "control_plane/coordinator/state_name.h"
#include "control_plane/views/progress.h"
#include "control_plane/views/recent_speeds.h"

namespace gandem {
namespace {

absl::StatusOr<StatusReply> AskCoordinator(const RunFolder& run,
                                           const std::string& certificates,
                                           absl::Time deadline) {
  GANDEM_ASSIGN_OR_RETURN(const std::string address, run.ReadControlAddress());
  GANDEM_ASSIGN_OR_RETURN(auto credentials,
                          CredentialsOfRun(run.path(), certificates));
  absl::StatusOr<StatusReply> reply =
      QueryStatus(address, std::move(credentials), deadline);
  if (!reply.ok()) return Annotate(reply.status(), address);
  return reply;
}

absl::StatusOr<StatusReply> ReadFiles(const RunFolder& run) {
  GANDEM_ASSIGN_OR_RETURN(const RunConfig config, run.ReadConfig());
  GANDEM_ASSIGN_OR_RETURN(const RunCounters counters, run.ReadCounters());
  GANDEM_ASSIGN_OR_RETURN(const FoundCheckpoint newest, run.NewestCheckpoint());
  StatusReply reply;
  reply.set_run_name(config.name());
  reply.set_rounds(config.rounds());
  reply.set_run_epoch(counters.run_epoch());
  reply.set_last_checkpoint_step(newest.step);
  reply.set_completed_rounds(newest.step);
  reply.set_state(newest.step >= config.rounds() ? StatusReply::FINISHED
                                                 : StatusReply::STOPPED);
  GANDEM_ASSIGN_OR_RETURN(const StatusReply failure, run.ReadFailure());
  if (failure.state() == StatusReply::FAILED) {
    reply.set_state(StatusReply::FAILED);
    absl::StrAppend(reply.mutable_detail(), failure.detail(), "\n");
  }
  for (const std::string& skipped : newest.skipped_with_reason) {
    absl::StrAppend(reply.mutable_detail(), "damaged checkpoint ", skipped,
                    "\n");
  }
  return reply;
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
  const RunFolder run(run_dir);
  if (!run.IsInTraining()) return ReadFiles(run);
  const auto reply = AskCoordinator(run, certificates, deadline);
  if (reply.ok()) return reply;
  GANDEM_ASSIGN_OR_RETURN(StatusReply files, ReadFiles(run));
  if (files.state() != StatusReply::FINISHED) {
    files.set_state(StatusReply::UNREACHABLE);
  }
  absl::StrAppend(files.mutable_detail(), "`gandem train` (", run.Trainer(),
                  ") works on this folder but does not answer (",
                  reply.status().message(),
                  "): it starts, exits or hangs; try again, or see ", run_dir,
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
