// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/views/run_workers.h"

#include <google/protobuf/text_format.h>

#include "common/files/file.h"
#include "common/files/text_proto.h"
#include "common/status.h"

namespace gandem {
namespace {

std::string WorkersPath(const std::string& run_dir) {
  return run_dir + "/state/workers.textproto";
}

}  // namespace

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
  std::string text;
  google::protobuf::TextFormat::PrintToString(kept, &text);
  GANDEM_RETURN_IF_ERROR(CreateDirectories(run_dir + "/state"));
  return WriteFileDurably(WorkersPath(run_dir), text);
}

absl::StatusOr<StatusReply> ReadRunWorkers(const std::string& run_dir) {
  const std::string path = WorkersPath(run_dir);
  if (!PathExists(path)) return StatusReply();
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxTextProtoBytes));
  StatusReply workers;
  GANDEM_RETURN_IF_ERROR(ParseTextProto(text, path, workers));
  return workers;
}

}  // namespace gandem
