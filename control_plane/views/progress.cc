// SPDX-License-Identifier: Apache-2.0
#include "control_plane/views/progress.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/config/role_name.h"
#include "common/config/worker_key.h"
#include "common/files/printable.h"
#include "control_plane/coordinator/state_name.h"

namespace gandem {
namespace {

// Time over which the speed is measured: long enough to smooth over a
// checkpoint, short enough to follow a change.
constexpr absl::Duration kSpeedWindow = absl::Seconds(20);
constexpr int kMinBarColumns = 10;
constexpr int kMaxBarColumns = 40;

std::string TimeText(double seconds) {
  const int64_t total = std::llround(seconds);
  if (total < 60) return absl::StrFormat("%ds", total);
  if (total < 3600) return absl::StrFormat("%dm%02ds", total / 60, total % 60);
  if (total < 100 * 3600) {
    return absl::StrFormat("%dh%02dm", total / 3600, total / 60 % 60);
  }
  return absl::StrFormat("%dd%02dh", total / 86400, total / 3600 % 24);
}

double PercentDone(const StatusReply& status) {
  if (status.rounds() <= 0) return 0;
  return 100.0 * static_cast<double>(status.completed_rounds()) /
         static_cast<double>(status.rounds());
}

// Example: "D2 812/s sync 3% slow 1 +25%": two workers, rank 1 is slow.
std::string FleetText(const FleetStatus& fleet) {
  std::string text = absl::StrFormat(
      "%c%d %.0f/s sync %.0f%%", fleet.role() == GENERATOR ? 'G' : 'D',
      fleet.workers(), fleet.images_per_second(), 100 * fleet.sync_share());
  if (fleet.straggler() >= 0) {
    absl::StrAppendFormat(&text, " slow %d +%.0f%%", fleet.straggler(),
                          100 * fleet.straggler_excess());
  }
  return text;
}

// Field of the progress, as shown in a bar and in a line; empty: not shown.
struct Field {
  std::string bar;
  std::string line;
};

// Returns the fields, the most important one first.
std::vector<Field> Fields(const ProgressView& view) {
  const StatusReply& status = view.status;
  const RoundMetrics& generator = view.generator;
  const RoundMetrics& discriminator = view.discriminator;
  const double percent = PercentDone(status);
  std::vector<Field> fields = {
      {absl::StrFormat("%d/%d %.0f%%", status.completed_rounds(),
                       status.rounds(), std::floor(percent)),
       absl::StrFormat("round %d/%d (%.1f%%)", status.completed_rounds(),
                       status.rounds(), percent)}};
  const auto add = [&fields](const std::string& text) {
    fields.push_back({text, text});
  };
  if (status.state() != StatusReply::RUNNING) add(StateName(status.state()));
  if (status.eta_seconds() > 0) add("ETA " + TimeText(status.eta_seconds()));
  if (status.images_per_second() > 0) {
    fields.push_back(
        {absl::StrFormat("%.0f img/s", status.images_per_second()),
         absl::StrFormat("%.1f images/s", status.images_per_second())});
  }
  if (generator.role() != ROLE_UNKNOWN &&
      discriminator.role() != ROLE_UNKNOWN) {
    fields.push_back({absl::StrFormat("G %.3f D %.3f", generator.loss(),
                                      discriminator.loss()),
                      ""});
    fields.push_back({absl::StrFormat("lag %d", generator.lag()), ""});
  }
  for (const RoundMetrics& newest : {generator, discriminator}) {
    if (newest.role() == ROLE_UNKNOWN) continue;
    fields.push_back(
        {"", absl::StrFormat("%s loss %.3f lag %d", RoleName(newest.role()),
                             newest.loss(), newest.lag())});
  }
  if (status.data().wait_share() > kShownDataWait) {
    add(DataWaitText(status.data()));
  }
  for (const FleetStatus& fleet : status.fleets()) add(FleetText(fleet));
  if (discriminator.cache_capacity() > 0) {
    fields.push_back(
        {absl::StrFormat("cache %d%%", 100 * discriminator.cache_images() /
                                           discriminator.cache_capacity()),
         absl::StrFormat("cache %d/%d", discriminator.cache_images(),
                         discriminator.cache_capacity())});
  }
  if (status.restarts() > 0) add(absl::StrCat("restarts ", status.restarts()));
  return fields;
}

// Lists the workers that a run waits for before its first round.
std::string Waiting(const StatusReply& status) {
  return "starting: " +
         absl::StrJoin(status.workers(), ", ",
                       [](std::string* text, const WorkerStatus& worker) {
                         absl::StrAppend(
                             text, ToString({worker.role(), worker.rank()}),
                             " ", StateName(worker.state()));
                       });
}

}  // namespace

void ProgressTracker::AddMetrics(const RoundMetrics& metrics) {
  absl::MutexLock lock(&mu_);
  speeds_.Add(metrics);
  for (const HealthWarning& warning : metrics.health()) {
    // Names of tensors are untrusted.
    warnings_.push_back(
        absl::StrCat("warning: ", PrintableText(warning.text())));
  }
  if (!leading_.Leads(metrics)) return;
  if (metrics.role() == GENERATOR) generator_ = metrics;
  if (metrics.role() == DISCRIMINATOR) discriminator_ = metrics;
}

void ProgressTracker::Observe(absl::Time now, int64_t run_epoch,
                              int64_t completed_rounds) {
  absl::MutexLock lock(&mu_);
  // A new epoch may start at an earlier round.
  if (run_epoch != run_epoch_) seen_.clear();
  run_epoch_ = run_epoch;
  // Do not count the time before the first round.
  if (seen_.size() == 1 && seen_.front().second == completed_rounds) {
    seen_.front().first = now;
    return;
  }
  seen_.emplace_back(now, completed_rounds);
  while (seen_.size() > 2 && now - seen_[1].first >= kSpeedWindow) {
    seen_.pop_front();
  }
}

double ProgressTracker::RoundsPerSecond() const {
  if (seen_.size() < 2) return 0;
  const double seconds =
      absl::ToDoubleSeconds(seen_.back().first - seen_.front().first);
  const int64_t rounds = seen_.back().second - seen_.front().second;
  return seconds > 0 && rounds > 0 ? static_cast<double>(rounds) / seconds : 0;
}

void ProgressTracker::Complete(StatusReply& status) const {
  absl::MutexLock lock(&mu_);
  const double speed = RoundsPerSecond();
  status.set_images_per_second(speed * static_cast<double>(images_per_round_));
  const int64_t left = status.rounds() - status.completed_rounds();
  const bool goes_on = status.state() == StatusReply::RUNNING;
  status.set_eta_seconds(
      goes_on && speed > 0 ? static_cast<double>(left) / speed : 0);
  speeds_.Complete(status);
}

ProgressView ProgressTracker::View(StatusReply status) const {
  Complete(status);
  absl::MutexLock lock(&mu_);
  return {std::move(status), generator_, discriminator_};
}

std::vector<std::string> ProgressTracker::TakeWarnings() {
  absl::MutexLock lock(&mu_);
  return std::exchange(warnings_, {});
}

std::string ProgressBar(const ProgressView& view, int width) {
  if (view.status.state() == StatusReply::STARTING) {
    return Waiting(view.status).substr(0, std::max(0, width));
  }
  const size_t columns = static_cast<size_t>(std::max(0, width));
  std::string fields;
  for (const auto& [field, line] : Fields(view)) {
    if (field.empty()) continue;
    if (fields.size() + 1 + field.size() + kMinBarColumns + 2 > columns &&
        !fields.empty()) {
      break;
    }
    absl::StrAppend(&fields, " ", field);
  }
  const int room = width - static_cast<int>(fields.size()) - 2;
  const int bar = std::min(room, kMaxBarColumns);
  if (bar < 1) {
    return fields.substr(std::min<size_t>(1, fields.size()), columns);
  }
  const int done = static_cast<int>(PercentDone(view.status) / 100 * bar);
  return absl::StrCat("[", std::string(done, '='), std::string(bar - done, ' '),
                      "]", fields);
}

std::string ProgressLine(const ProgressView& view) {
  if (view.status.state() == StatusReply::STARTING) {
    return Waiting(view.status);
  }
  std::vector<std::string> lines;
  for (const auto& [bar, line] : Fields(view)) {
    if (!line.empty()) lines.push_back(line);
  }
  return absl::StrJoin(lines, " | ");
}

std::string FleetTable(const StatusReply& status) {
  if (status.fleets().empty()) return "";
  std::string text =
      absl::StrFormat("  %-15s %8s %9s %4s %5s  %s\n", "fleet", "workers",
                      "images/s", "lag", "sync", "straggler");
  for (const FleetStatus& fleet : status.fleets()) {
    absl::StrAppendFormat(
        &text, "  %-15s %8d %9.1f %4d %4.0f%%  %s\n", RoleName(fleet.role()),
        fleet.workers(), fleet.images_per_second(), fleet.lag(),
        100 * fleet.sync_share(),
        fleet.straggler() < 0
            ? "-"
            : absl::StrFormat("rank %d computes %.0f%% longer",
                              fleet.straggler(),
                              100 * fleet.straggler_excess()));
  }
  return text;
}

}  // namespace gandem
