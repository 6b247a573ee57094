// SPDX-License-Identifier: Apache-2.0
//
// Records a pipeline trace while a pipeline runs: `gandem simulate pipeline`
// reads it, also where the run ended before Close().
//
// Owner: whoever runs the pipeline. Thread safety: one thread.
// Errors: those of common/files/file.h, once for all at Close(); what does not
// fit into kMaxTraceText or kMaxTraceSeconds is left out.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/files/file_writer.h"
#include "pipeline/control/pipeline_trace.h"

namespace gandem {

class PipelineTraceWriter {
 public:
  // Creates or empties the file.
  static absl::StatusOr<PipelineTraceWriter> Create(const std::string& path,
                                                    const PipelineJob& job);

  // A fetch that ended.
  void Add(const FetchRecord& fetch) {
    if (fetch.at + fetch.seconds <= kMaxTraceSeconds) Append(TraceLine(fetch));
  }
  // How long the trainer computed on the batch that it took at `at`; in the
  // order of time.
  void Add(const DemandPart& batch) {
    if (batch.at <= kMaxTraceSeconds) Append(TraceLine(batch));
  }

  // After so many seconds. Nothing may be called after it.
  absl::Status Close(double seconds);

 private:
  explicit PipelineTraceWriter(FileWriter file) : file_(std::move(file)) {}
  void Append(absl::string_view line);

  FileWriter file_;
  int64_t written_ = 0;  // bytes
  std::string waiting_;  // lines, not written yet
  absl::Status status_;  // the first failure
};

}  // namespace gandem
