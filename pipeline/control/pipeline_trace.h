// SPDX-License-Identifier: Apache-2.0
//
// What a data pipeline went through, in a text file: what `gandem simulate
// pipeline` plays settings against. A line each, times in seconds from the
// start:
//
//   gandem_pipeline_trace 1
//   # a remark
//   job batch=64 sample_bytes=49152 stored_bytes=20000 work_seconds=0.001
//       cores=4 trainer_cores=2                          (in one line)
//   link at=0 latency=0.02 spread=0.015 bytes_per_second=12500000
//   link at=30 latency=0.02 spread=0.015 bytes_per_second=0
//   demand 0 0.1
//   fetch 0.003 0.021 18211
//   end 120
//
// `link` holds until the next one; 0 bytes a second are an outage. A recording
// has `fetch START SECONDS BYTES` in its place, one for each fetch (of what
// many samples share, one for each piece), and says by them what the link was
// (link_of_fetches.h). `demand START SECONDS`: from then
// on the trainer computes for so long on a batch; 0: it takes none.
//
// Owner: values. Thread safety: none needed.
// Errors: INVALID_ARGUMENT names the line, and what was expected in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

struct PipelineJob {
  int64_t batch = 0;          // samples, 1 to 65536
  int64_t sample_bytes = 0;   // of a finished sample
  int64_t stored_bytes = 0;   // of one as it is fetched; a mean
  double work_seconds = 0;    // of a processor, to make one of the other
  int64_t cores = 1;          // of the machine
  int64_t trainer_cores = 1;  // that the trainer keeps busy

  bool operator==(const PipelineJob&) const = default;
};

// From `at` on.
struct LinkPart {
  double at = 0;
  // From the request to the first byte: evenly between latency - spread and
  // latency + spread.
  double latency = 0;
  double spread = 0;
  double bytes_per_second = 0;  // of all connections; 0: an outage
  // Of one connection; 0: no limit of its own.
  double connection_bytes_per_second = 0;
  // So many fetches are slower by so much.
  double slow_share = 0;
  double slow_seconds = 0;

  bool operator==(const LinkPart&) const = default;
};

// No trace is longer.
inline constexpr double kMaxTraceSeconds = 1e5;

// No trainer is faster.
inline constexpr double kLeastBatchSeconds = 1e-4;

struct DemandPart {
  double at = 0;
  double batch_seconds = 0;  // 0: none is taken

  bool operator==(const DemandPart&) const = default;
};

struct FetchRecord {
  double at = 0;
  double seconds = 0;
  int64_t bytes = 0;

  bool operator==(const FetchRecord&) const = default;
};

struct PipelineTrace {
  PipelineJob job;
  std::vector<LinkPart> link = {};      // by `at`, the first at 0
  std::vector<DemandPart> demand = {};  // by `at`
  std::vector<FetchRecord> fetches = {};
  double seconds = 0;  // its length

  bool operator==(const PipelineTrace&) const = default;
};

absl::StatusOr<PipelineTrace> ParsePipelineTrace(absl::string_view text);

// Of a file, which may have so many bytes.
inline constexpr int64_t kMaxTraceText = int64_t{64} << 20;
absl::StatusOr<PipelineTrace> ReadPipelineTrace(const std::string& path);

// Lines of a trace, for who records one: the job's first, `end` last. They end
// with a line break.
std::string TraceHead(const PipelineJob& job);
std::string TraceLine(const LinkPart& part);
std::string TraceLine(const DemandPart& part);
std::string TraceLine(const FetchRecord& fetch);
std::string TraceEnd(double seconds);

// All of them.
std::string PipelineTraceText(const PipelineTrace& trace);

}  // namespace gandem
