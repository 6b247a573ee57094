// SPDX-License-Identifier: Apache-2.0
//
// Writes the workers' records to run_dir/metrics.jsonl (one RoundMetrics per
// line) and run_dir/tensorboard/ (scalars by role, grids of samples), on its
// own thread, so that a slow disk delays no other thread. The size is limited:
// a full metrics.jsonl becomes metrics.1.jsonl and so on
// (common/files/rotation.h), and the oldest event files are removed.
//
// Owner: `gandem train`. Thread safety: any thread. Errors: records that cannot
// be written are dropped; TakeError() returns the first reason.
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
    int64_t file_bytes = int64_t{64} << 20;  // size of a full file
    int older_files = 15;  // maximum number of full files to keep
  };

  // Opens the run's files for appending, and removes an incomplete last line.
  static absl::StatusOr<std::unique_ptr<MetricsWriter>> Open(
      const std::string& run_dir, Limits limits);
  static absl::StatusOr<std::unique_ptr<MetricsWriter>> Open(
      const std::string& run_dir) {
    return Open(run_dir, Limits());
  }
  // Writes the queued records.
  ~MetricsWriter();

  // Begins a run epoch. TensorBoard drops its data from `first_round` on.
  void BeginEpoch(int64_t first_round);
  // Adds a record without waiting. The caller drops repeats (record_order.h).
  void Add(const RoundMetrics& metrics) { Enqueue(metrics); }

  // Returns the first error since the last call, or OK.
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
  absl::Status BeginFileIfFull();
  absl::Status WriteEvents(const RoundMetrics& metrics);
  absl::Status BeginEvents(std::optional<int64_t> first_round);
  void Enqueue(Item item);

  std::string MetricsPath() const { return run_dir_ + "/metrics.jsonl"; }

  // Constant after construction.
  const std::string run_dir_;
  const Limits limits_;
  BoundedQueue<Item> queue_;
  absl::Mutex mu_;
  absl::Status error_ ABSL_GUARDED_BY(mu_);
  // Used only by the thread.
  int fd_ = -1;
  off_t size_ = 0;  // whole lines
  std::unique_ptr<EventWriter> events_;
  LeadingRanks leading_;
  Thread thread_;  // last: it uses all of the above
};

}  // namespace gandem
