// SPDX-License-Identifier: Apache-2.0
#include "control_plane/logs/log_merge.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gandem {
namespace {

auto OrderOf(const LogEntry& entry) {
  return std::tie(entry.time, entry.source);
}

// What a log has to say next.
struct LogHead {
  LogEntry entry = {};
  size_t log = 0;
};
// For a heap whose top is the first one.
bool IsLater(const LogHead& a, const LogHead& b) {
  return std::tuple(OrderOf(a.entry), a.log) >
         std::tuple(OrderOf(b.entry), b.log);
}

}  // namespace

void MergeLogs(const std::vector<NextLogEntry>& logs,
               absl::FunctionRef<void(LogEntry)> take) {
  std::vector<LogHead> heads;
  const auto push_next = [&](size_t log) {
    std::optional<LogEntry> entry = logs[log]();
    if (!entry.has_value()) return;
    heads.push_back({.entry = *std::move(entry), .log = log});
    std::ranges::push_heap(heads, IsLater);
  };
  for (size_t log = 0; log < logs.size(); ++log) push_next(log);
  while (!heads.empty()) {
    std::ranges::pop_heap(heads, IsLater);
    LogHead head = std::move(heads.back());
    heads.pop_back();
    take(std::move(head.entry));
    push_next(head.log);
  }
}

void LogMerge::Add(std::vector<LogEntry> entries) {
  for (LogEntry& entry : entries) {
    held_.push_back({.entry = std::move(entry), .releases = releases_});
  }
}

std::vector<LogEntry> LogMerge::Release() {
  Sort();
  const auto last = std::find_if(
      held_.rbegin(), held_.rend(),
      [this](const HeldEntry& held) { return held.releases < releases_; });
  ++releases_;
  return Take(static_cast<size_t>(std::distance(last, held_.rend())));
}

std::vector<LogEntry> LogMerge::Drain() {
  Sort();
  return Take(held_.size());
}

// Threads of a process write into its file a moment after they have looked at
// the clock, so a file alone is not in order.
void LogMerge::Sort() {
  std::ranges::stable_sort(held_, [](const HeldEntry& a, const HeldEntry& b) {
    return OrderOf(a.entry) < OrderOf(b.entry);
  });
}

std::vector<LogEntry> LogMerge::Take(size_t count) {
  std::vector<LogEntry> taken;
  const auto end = held_.begin() + static_cast<std::ptrdiff_t>(count);
  for (auto it = held_.begin(); it != end; ++it) {
    taken.push_back(std::move(it->entry));
  }
  held_.erase(held_.begin(), end);
  return taken;
}

std::vector<LogEntry> LimitLines(std::vector<LogEntry> entries, size_t most) {
  std::map<LogSource, size_t> lines;
  for (const LogEntry& entry : entries) ++lines[entry.source];
  std::map<LogSource, size_t> seen;
  std::vector<LogEntry> kept;
  for (LogEntry& entry : entries) {
    const size_t number = ++seen[entry.source];
    const size_t all = lines[entry.source];
    if (number > most && number < all) continue;
    if (number > most) {
      entry.level = LogLevel::kWarn;
      entry.text = absl::StrCat(
          all - most, " lines left out here; gandem logs without --follow, ",
          "and the file, have them");
    }
    kept.push_back(std::move(entry));
  }
  return kept;
}

}  // namespace gandem
