// SPDX-License-Identifier: Apache-2.0
//
// Writes events of trace.h to a file for ui.perfetto.dev and chrome://tracing:
// the JSON array of the Trace Event Format, one event a line. The format
// permits a missing last bracket, so a file left by a crash is valid. Times are
// microseconds since the Unix epoch, common to the files of several processes.
//
// Owner: the process, one at a time. Thread safety: one thread; other threads
// may record meanwhile.
// Errors of Start: those of common/files/file.h. A full or unwritable file ends
// the recording with a log line.
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

// Maximum file size, about 100,000 rounds.
inline constexpr int64_t kMaxTraceBytes = int64_t{256} << 20;
// Number of files kept for one name, from the last starts.
inline constexpr int kKeptTraces = 8;

class TraceWriter {
 public:
  struct Options {
    std::string folder = {};  // required; created if missing
    // Name of the file and of the process, "generator-0". Older files become
    // generator-0.1.json and so on (rotation.h).
    std::string name = {};
    // Number of the process in the file, unique in the run.
    int64_t process = 0;
    int64_t max_bytes = kMaxTraceBytes;
    size_t max_buffered = size_t{1} << 14;              // events
    absl::Duration interval = absl::Milliseconds(200);  // between two writes
  };

  // Starts recording.
  static absl::StatusOr<std::unique_ptr<TraceWriter>> Start(Options options);
  // Stops recording and writes the rest.
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

  const Options options_;
  const std::string path_;

  FileWriter file_;
  int64_t written_ = 0;
  std::string text_;  // not written yet
  std::set<int64_t> named_threads_;

  Thread thread_;  // last: uses all members above
};

}  // namespace gandem
