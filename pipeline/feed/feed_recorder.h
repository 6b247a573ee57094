// SPDX-License-Identifier: Apache-2.0
//
// Writes down what a prefetcher goes through, as a pipeline trace
// (pipeline/control/pipeline_trace.h). The file begins once enough samples have
// said what one costs, and ends with the recorder.
//
// Owner: the prefetcher. Thread safety: none; under its mutex.
// Errors: a file that cannot be written ends the recording, with one warning in
// the log: a run does not end for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "pipeline/control/pipeline_trace.h"
#include "pipeline/control/trace_writer.h"

namespace gandem {

class FeedRecorder {
 public:
  // `job`: all of it but stored_bytes and work_seconds, which are found out.
  FeedRecorder(std::string path, const PipelineJob& job, absl::Time start);
  FeedRecorder(const FeedRecorder&) = delete;
  FeedRecorder& operator=(const FeedRecorder&) = delete;
  ~FeedRecorder();

  // A sample of so many bytes is there.
  void Fetched(int64_t bytes);
  // What the source was asked for, a sample or what it shares with others.
  void ReadEnded(absl::Time began, absl::Time ended, int64_t bytes);
  // Samples that were decoded, in so many seconds of a processor.
  void Finished(int64_t samples, double work_seconds);
  // The trainer asks for a batch, and has got it.
  void Asked(absl::Time now);
  void Taken(absl::Time now) { taken_ = now; }

 private:
  double At(absl::Time time) const {
    return absl::ToDoubleSeconds(time - start_);
  }
  void Begin();
  void End(const absl::Status& status);

  const std::string path_;
  const absl::Time start_;
  PipelineJob job_;
  absl::Time last_;                  // that was told of
  std::optional<absl::Time> taken_;  // the newest batch
  int64_t fetched_ = 0;
  int64_t fetched_bytes_ = 0;
  int64_t finished_ = 0;
  double work_seconds_ = 0;
  // Until the file begins.
  std::vector<FetchRecord> fetches_;
  std::vector<DemandPart> demand_;
  std::optional<PipelineTraceWriter> writer_;
  bool ended_ = false;
};

}  // namespace gandem
