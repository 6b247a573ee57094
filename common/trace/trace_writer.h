// SPDX-License-Identifier: Apache-2.0
//
// Writes what trace.h records to a file that ui.perfetto.dev and
// chrome://tracing load: the JSON array of the Trace Event Format, one event a
// line. Its last bracket may be missing, so what a crash leaves loads, too.
// Times are microseconds since the Unix epoch: files of several processes share
// a clock.
//
// Owner: the process, one at a time. Thread safety: one thread; recording goes
// on beside it.
// Errors of Start: those of common/files/file.h. A file that is full, or that
// cannot be written any more, ends the recording, and the log says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/files/file_writer.h"
#include "common/process/thread.h"
#include "common/trace/trace_buffer.h"

namespace gandem {

// The size at which a file ends: some 100,000 rounds.
inline constexpr int64_t kMaxTraceBytes = int64_t{256} << 20;
// Files of one name that stay: those of the last starts.
inline constexpr int kKeptTraces = 8;

class TraceWriter {
 public:
  struct Options {
    std::string folder = {};  // required; is created if need be
    // The file and the process are called so: "generator-0". A file of the
    // start before becomes generator-0.1.json, and so on (rotation.h).
    std::string name = {};
    // The process's number in the file; no other of the run has it.
    int64_t process = 0;
    int64_t max_bytes = kMaxTraceBytes;
    size_t max_buffered = size_t{1} << 14;              // events
    absl::Duration interval = absl::Milliseconds(200);  // between two writes
  };

  // Recording begins.
  static absl::StatusOr<std::unique_ptr<TraceWriter>> Start(Options options);
  // Recording ends; writes what is left.
  ~TraceWriter();

  const std::string& path() const { return path_; }

 private:
  TraceWriter(Options options, std::string path, FileWriter file);

  void Run();
  absl::Status Write(const TraceBuffer::Batch& batch);
  void AppendEvent(const TraceEvent& event);
  void AppendName(absl::string_view what, int64_t thread,
                  absl::string_view name);
  absl::Status Flush();
  bool HasRoom() const;

  // Never changes after construction.
  const Options options_;
  const std::string path_;

  // The thread's.
  FileWriter file_;
  int64_t written_ = 0;
  std::string text_;  // not written yet
  std::set<int64_t> named_threads_;

  Thread thread_;  // last: it uses all of the above
};

}  // namespace gandem
