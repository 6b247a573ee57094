// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/coordinator/run_counters.h"

#include <google/protobuf/text_format.h>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/files/text_proto.h"
#include "common/status.h"

namespace gandem {
namespace {

std::string CountersPath(const std::string& run_dir) {
  return run_dir + "/state/counters.textproto";
}

}  // namespace

absl::StatusOr<RunCounters> ReadRunCounters(const std::string& run_dir) {
  const std::string path = CountersPath(run_dir);
  if (!PathExists(path)) return RunCounters();
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxTextProtoBytes));
  RunCounters counters;
  absl::Status status = ParseTextProto(text, path, counters);
  if (status.ok() && (counters.run_epoch() < 0 || counters.incarnation() < 0)) {
    status = absl::InvalidArgumentError(
        absl::StrCat(path, ": a counter is negative"));
  }
  if (status.ok()) return counters;
  return absl::DataLossError(absl::StrCat(
      status.message(), "; write numbers into it that this run has not used ",
      "yet, as in 'run_epoch: 1000 incarnation: 1000'"));
}

absl::Status WriteRunCounters(const std::string& run_dir,
                              const RunCounters& counters) {
  GANDEM_RETURN_IF_ERROR(CreateDirectories(run_dir + "/state"));
  std::string text;
  google::protobuf::TextFormat::PrintToString(counters, &text);
  return WriteFileDurably(CountersPath(run_dir), text);
}

}  // namespace gandem
