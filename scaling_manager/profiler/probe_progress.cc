// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/probe_progress.h"

#include <algorithm>
#include <cstddef>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "scaling_manager/planner/model/profile_probes.h"
#include "scaling_manager/profiler/probe_list.h"

namespace gandem {
namespace {

constexpr double kBarWidth = 32;

std::string Clock(absl::Duration time) {
  const int64_t seconds = absl::ToInt64Seconds(time);
  return absl::StrFormat("%d:%02d", seconds / 60, seconds % 60);
}

const char* NameOf(TransferProfile::Kind kind) {
  switch (kind) {
    case TransferProfile::EXCHANGE_MEMORY:
      return "exchange within a process";
    case TransferProfile::EXCHANGE_SOCKET:
      return "exchange over a socket";
    case TransferProfile::EXCHANGE_TCP:
      return "exchange between hosts";
    case TransferProfile::COLLECTIVE_MEMORY:
      return "all-reduce of two, through memory";
    case TransferProfile::COLLECTIVE_TCP:
      return "all-reduce of two, through a socket";
    default:
      return "transfer";
  }
}

}  // namespace

void ProbeProgress::Show(absl::Duration spent, const std::string& what) {
  if (!is_terminal_) return;
  const double part = std::clamp(absl::FDivDuration(spent, budget_), 0.0, 1.0);
  const auto filled = static_cast<size_t>(kBarWidth * part);
  err_ << "\r\033[K[" << std::string(filled, '#')
       << std::string(static_cast<size_t>(kBarWidth) - filled, '.') << "] "
       << Clock(spent) << " of " << Clock(budget_) << "  " << what
       << std::flush;
}

void ProbeProgress::PrintLine(const std::string& line) {
  Clear();
  out_ << line << "\n" << std::flush;
}

void ProbeProgress::Clear() {
  if (is_terminal_) err_ << "\r\033[K" << std::flush;
}

std::string ProbeLine(const Probe& probe) {
  const std::string what = ToString(probe.settings());
  if (probe.outcome() != Probe::MEASURED) {
    return absl::StrCat(what, ": ", Probe::Outcome_Name(probe.outcome()), ": ",
                        probe.message());
  }
  const OperationTime& round = probe.round();
  return absl::StrFormat("%s: %.4g s a round (%.4g to %.4g of %d%s), %d MiB",
                         what, round.median_seconds(), round.low_seconds(),
                         round.high_seconds(), round.repetitions(),
                         probe.is_settled() ? "" : ", not settled",
                         LimitedPeakBytes(probe) >> 20);
}

std::string TransferLine(const TransferProfile& transfer) {
  return absl::StrFormat("%s: %.0f us and %.2f GB/s", NameOf(transfer.kind()),
                         transfer.latency_seconds() * 1e6,
                         transfer.bytes_per_second() / 1e9);
}

}  // namespace gandem
