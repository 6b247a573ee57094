// SPDX-License-Identifier: Apache-2.0
#include "pipeline/control/trace_writer.h"

#include <utility>

#include "common/status.h"

namespace gandem {
namespace {

constexpr size_t kWrittenAtOnce = 64 << 10;
// For the line `end`.
constexpr int64_t kTraceRoom = 64;

}  // namespace

absl::StatusOr<PipelineTraceWriter> PipelineTraceWriter::Create(
    const std::string& path, const PipelineJob& job) {
  GANDEM_ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(path));
  PipelineTraceWriter writer(std::move(file));
  writer.Append(TraceHead(job));
  return writer;
}

void PipelineTraceWriter::Append(absl::string_view line) {
  const auto size = static_cast<int64_t>(line.size());
  if (!status_.ok() || written_ + size > kMaxTraceText - kTraceRoom) return;
  written_ += size;
  waiting_.append(line.data(), line.size());
  if (waiting_.size() < kWrittenAtOnce) return;
  status_ = file_.Append(waiting_);
  waiting_.clear();
}

absl::Status PipelineTraceWriter::Close(double seconds) {
  waiting_ += TraceEnd(seconds);
  if (status_.ok()) status_ = file_.Append(waiting_);
  GANDEM_RETURN_IF_ERROR(status_);
  return file_.Close().status();
}

}  // namespace gandem
