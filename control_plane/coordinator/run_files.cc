// SPDX-License-Identifier: Apache-2.0
#include "control_plane/coordinator/run_files.h"

#include <google/protobuf/text_format.h>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/files/printable.h"
#include "common/files/text_proto.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr char kCountersFile[] = "/state/counters.textproto";
constexpr char kWorkersFile[] = "/state/workers.textproto";
constexpr char kFailureFile[] = "/state/failure.textproto";

// Empty where there is no file.
absl::StatusOr<std::string> ReadStateFile(const std::string& path) {
  if (!PathExists(path)) return "";
  return ReadFile(path, kMaxTextProtoBytes);
}

absl::Status WriteStateFile(const std::string& run_dir, const char* name,
                            const google::protobuf::Message& message) {
  GANDEM_RETURN_IF_ERROR(CreateDirectories(run_dir + "/state"));
  std::string text;
  google::protobuf::TextFormat::PrintToString(message, &text);
  return WriteFileDurably(run_dir + name, text);
}

}  // namespace

absl::StatusOr<RunConfig> ReadRunConfig(const std::string& run_dir) {
  const std::string path = run_dir + "/config.textproto";
  if (!PathExists(path)) {
    return absl::NotFoundError(absl::StrCat(
        "'", run_dir, "' holds no run (there is no config.textproto); `gandem ",
        "train RECIPE --run_dir ", run_dir, "` makes one"));
  }
  return LoadRunConfig(path, {});
}

absl::StatusOr<RunCounters> ReadRunCounters(const std::string& run_dir) {
  const std::string path = run_dir + kCountersFile;
  GANDEM_ASSIGN_OR_RETURN(const std::string text, ReadStateFile(path));
  RunCounters counters;
  absl::Status status = ParseTextProto(text, path, counters);
  if (status.ok() && (counters.run_epoch() < 0 || counters.incarnation() < 0 ||
                      counters.first_round() < 0 || counters.rollbacks() < 0)) {
    status = absl::InvalidArgumentError(
        absl::StrCat(path, ": a counter is negative"));
  }
  for (const PlaceIncarnation& place : counters.places()) {
    if (!status.ok() || place.incarnation() > 0) continue;
    status = absl::InvalidArgumentError(
        absl::StrCat(path, ": a place has incarnation ", place.incarnation(),
                     ", which is not positive"));
  }
  if (status.ok()) return counters;
  return absl::DataLossError(absl::StrCat(
      status.message(), "; write numbers into it that this run has not used ",
      "yet, as in 'run_epoch: 1000 incarnation: 1000'"));
}

absl::Status WriteRunCounters(const std::string& run_dir,
                              const RunCounters& counters) {
  return WriteStateFile(run_dir, kCountersFile, counters);
}

absl::StatusOr<StatusReply> ReadRunWorkers(const std::string& run_dir) {
  const std::string path = run_dir + kWorkersFile;
  GANDEM_ASSIGN_OR_RETURN(const std::string text, ReadStateFile(path));
  StatusReply workers;
  GANDEM_RETURN_IF_ERROR(ParseTextProto(text, path, workers));
  return workers;
}

// Only what stays true after the run: who took part, and where.
absl::Status WriteRunWorkers(const std::string& run_dir,
                             const StatusReply& status) {
  StatusReply kept;
  kept.set_run_epoch(status.run_epoch());
  for (const WorkerStatus& worker : status.workers()) {
    WorkerStatus& copy = *kept.add_workers();
    copy.set_role(worker.role());
    copy.set_rank(worker.rank());
    copy.set_host(worker.host());
    copy.set_pid(worker.pid());
  }
  return WriteStateFile(run_dir, kWorkersFile, kept);
}

absl::StatusOr<StatusReply> ReadRunFailure(const std::string& run_dir) {
  const std::string path = run_dir + kFailureFile;
  GANDEM_ASSIGN_OR_RETURN(const std::string text, ReadStateFile(path));
  StatusReply failure;
  GANDEM_RETURN_IF_ERROR(ParseTextProto(text, path, failure));
  return failure;
}

absl::Status WriteRunFailure(const std::string& run_dir,
                             const std::string& detail) {
  StatusReply failure;
  failure.set_state(StatusReply::FAILED);
  // Of a worker's message, which may hold names of files.
  failure.set_detail(PrintableText(detail));
  return WriteStateFile(run_dir, kFailureFile, failure);
}

absl::Status RemoveRunFailure(const std::string& run_dir) {
  return RemoveAll(run_dir + kFailureFile);
}

absl::StatusOr<FoundCheckpoint> FindCheckpoint(const std::string& run_dir) {
  auto newest = FindNewestCheckpoint(run_dir);
  if (absl::IsNotFound(newest.status())) return FoundCheckpoint();
  return newest;
}

}  // namespace gandem
