// SPDX-License-Identifier: Apache-2.0
#include "pipeline/feed/feed_recorder.h"

#include <algorithm>
#include <utility>

#include "common/process/log.h"

namespace gandem {
namespace {

// Samples whose mean cost is taken for that of all.
constexpr int64_t kEnoughSamples = 256;

}  // namespace

FeedRecorder::FeedRecorder(std::string path, const PipelineJob& job,
                           absl::Time start)
    : path_(std::move(path)), start_(start), job_(job), last_(start) {}

FeedRecorder::~FeedRecorder() {
  // What a short run has seen is better than nothing.
  if (!ended_ && !writer_.has_value() && fetched_ > 0 && finished_ > 0) Begin();
  if (writer_.has_value() && !ended_) End(writer_->Close(At(last_)));
}

void FeedRecorder::Fetched(int64_t bytes) {
  ++fetched_;
  fetched_bytes_ += bytes;
}

void FeedRecorder::ReadEnded(absl::Time began, absl::Time ended,
                             int64_t bytes) {
  if (ended_) return;
  last_ = ended;
  const FetchRecord fetch = {.at = At(began),
                             .seconds = absl::ToDoubleSeconds(ended - began),
                             .bytes = bytes};
  if (writer_.has_value()) return writer_->Add(fetch);
  fetches_.push_back(fetch);
}

void FeedRecorder::Finished(int64_t samples, double work_seconds) {
  if (ended_ || writer_.has_value()) return;
  finished_ += samples;
  work_seconds_ += work_seconds;
  if (finished_ >= kEnoughSamples && fetched_ > 0) Begin();
}

void FeedRecorder::Asked(absl::Time now) {
  if (ended_ || !taken_.has_value()) return;
  last_ = std::max(last_, now);
  const DemandPart batch = {
      .at = At(*taken_),
      .batch_seconds =
          std::max(kLeastBatchSeconds, absl::ToDoubleSeconds(now - *taken_))};
  taken_.reset();
  if (writer_.has_value()) return writer_->Add(batch);
  demand_.push_back(batch);
}

void FeedRecorder::Begin() {
  job_.stored_bytes = std::max<int64_t>(1, fetched_bytes_ / fetched_);
  job_.work_seconds = work_seconds_ / static_cast<double>(finished_);
  absl::StatusOr<PipelineTraceWriter> writer =
      PipelineTraceWriter::Create(path_, job_);
  if (!writer.ok()) return End(writer.status());
  writer_.emplace(*std::move(writer));
  for (const FetchRecord& fetch : std::exchange(fetches_, {})) {
    writer_->Add(fetch);
  }
  for (const DemandPart& batch : std::exchange(demand_, {})) {
    writer_->Add(batch);
  }
}

void FeedRecorder::End(const absl::Status& status) {
  ended_ = true;
  if (!status.ok()) {
    GANDEM_LOG_WARN("no trace of reading ahead: {}", status);
  }
}

}  // namespace gandem
