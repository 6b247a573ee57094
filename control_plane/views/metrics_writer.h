// SPDX-License-Identifier: Apache-2.0
//
// Writes what the workers report to run_dir/metrics.jsonl (one RoundMetrics a
// line) and run_dir/tensorboard/ (scalars by role, grids of samples), on a
// thread of its own: a slow disk holds up nobody. Both are bounded: the file
// that is full becomes metrics.1.jsonl and so on (common/files/rotation.h), and
// of the events the oldest files go.
//
// Owner: `gandem train`. Thread safety: any thread.
// Errors: what cannot be written is dropped and counted; TakeError() tells the
// first reason.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/bounded_queue.h"
#include "common/files/event_writer.h"
#include "common/process/thread.h"
#include "control_plane/views/record_order.h"
#include "proto/metrics.pb.h"

namespace gandem {

class MetricsWriter {
 public:
  struct Limits {
    int64_t file_bytes = int64_t{64} << 20;  // then another file begins
    int older_files = 15;  // of full ones, before the one that is written
  };

  // Appends to what the run has; a line that a crash cut off is taken away.
  static absl::StatusOr<std::unique_ptr<MetricsWriter>> Open(
      const std::string& run_dir, Limits limits);
  static absl::StatusOr<std::unique_ptr<MetricsWriter>> Open(
      const std::string& run_dir) {
    return Open(run_dir, Limits());
  }
  // Writes what is queued.
  ~MetricsWriter();

  // A run epoch starts at `first_round`: TensorBoard forgets what it has of
  // later rounds.
  void BeginEpoch(int64_t first_round);
  // A record that is no repeat (record_order.h). Never waits.
  void Add(const RoundMetrics& metrics) { Enqueue(metrics); }

  // The first error since the last call, else OK.
  absl::Status TakeError();

 private:
  struct Epoch {
    int64_t first_round = 0;
  };
  using Item = std::variant<Epoch, RoundMetrics>;

  static constexpr size_t kMaxQueued = 1 << 14;

  MetricsWriter(std::string run_dir, Limits limits)
      : run_dir_(std::move(run_dir)), limits_(limits), queue_(kMaxQueued) {}
  void Run();
  absl::Status Write(const Item& item);
  absl::Status OpenLines();
  absl::Status WriteLine(const RoundMetrics& metrics);
  // Another file begins once this one is full.
  absl::Status BeginFileIfFull();
  absl::Status WriteEvents(const RoundMetrics& metrics);
  absl::Status BeginEvents(std::optional<int64_t> first_round);
  void Enqueue(Item item);

  std::string MetricsPath() const { return run_dir_ + "/metrics.jsonl"; }

  // Never change after construction.
  const std::string run_dir_;
  const Limits limits_;
  BoundedQueue<Item> queue_;
  absl::Mutex mu_;
  absl::Status error_ ABSL_GUARDED_BY(mu_);
  // Only the thread uses these.
  int fd_ = -1;
  off_t size_ = 0;  // whole lines
  std::unique_ptr<EventWriter> events_;
  LeadingRanks leading_;
  Thread thread_;  // last: it uses all of the above
};

}  // namespace gandem
