// SPDX-License-Identifier: Apache-2.0
#include "control_plane/coordinator/request_checks.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/control/limits.h"
#include "common/control/worker_position.h"
#include "common/faults.h"
#include "common/files/printable.h"

namespace gandem {
namespace {

constexpr size_t kMaxHost = 255;
constexpr size_t kMaxHostIdentity = 512;
constexpr size_t kMaxFileName = 255;
constexpr int64_t kMaxNumerics = 256;
constexpr int64_t kMaxRanksApart = 4096;

bool IsOf(const RoundMetrics& metrics, WorkerKey worker) {
  const bool has_role =
      worker.role == COLOCATED
          ? metrics.role() == GENERATOR || metrics.role() == DISCRIMINATOR
          : metrics.role() == worker.role;
  return has_role && metrics.rank() == worker.rank;
}

}  // namespace

absl::Status CheckRegistration(const RegisterRequest& request) {
  Faults faults("registration");
  const std::string host = Printable(request.host(), kMaxHost);
  if (host != request.host()) {
    faults.Add(absl::StrCat("'", host, "' is no name of a host"));
  }
  const std::string& identity = request.host_identity();
  if (identity != Printable(identity, kMaxHostIdentity)) {
    faults.Add("host_identity is no identity of a host");
  }
  faults.CheckRange("number of numerics", request.numerics_size(), 0,
                    kMaxNumerics);
  for (const auto& [name, value] : request.numerics()) {
    if (name == Printable(name, kMaxHost) &&
        value == Printable(value, kMaxHost))
      continue;
    faults.Add("numerics have texts that are long or not printable");
    break;
  }
  return faults.ToStatus();
}

absl::Status CheckHeartbeat(const HeartbeatRequest& request, int64_t rounds) {
  Faults faults("heartbeat");
  faults.CheckRange("started_round", request.started_round(), -1, rounds - 1);
  // started_round may be any number here.
  faults.CheckRange("completed_rounds", request.completed_rounds(), 0,
                    std::min(request.started_round(), rounds - 1) + 1);
  CheckPosition(request.position(), rounds, faults);
  faults.CheckRange("resident_bytes", request.resident_bytes(), 0, INT64_MAX);
  faults.CheckRange("number of ranks_apart", request.ranks_apart_size(), 0,
                    kMaxRanksApart);
  return faults.ToStatus();
}

absl::Status CheckMetrics(const HeartbeatRequest& request, WorkerKey worker) {
  Faults faults("metrics");
  if (!faults.CheckRange("number of records", request.metrics_size(), 0,
                         kMaxMetricsPerHeartbeat)) {
    return faults.ToStatus();
  }
  for (const RoundMetrics& metrics : request.metrics()) {
    const std::string& grid = metrics.sample_grid();
    if (!IsOf(metrics, worker)) {
      faults.Add("they are of another worker");
    }
    if (grid != Printable(grid, kMaxFileName)) {
      faults.Add("sample_grid is no name of a file");
    }
    faults.CheckRange("run_epoch", metrics.run_epoch(), 0, request.run_epoch());
    if (!faults.empty()) break;  // one record is enough
  }
  return faults.ToStatus();
}

ShardReport WithPrintableError(ShardReport report) {
  *report.mutable_error() = Printable(report.error(), kMaxFailure);
  return report;
}

}  // namespace gandem
