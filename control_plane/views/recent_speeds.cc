// SPDX-License-Identifier: Apache-2.0
#include "control_plane/views/recent_speeds.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/results/median.h"

namespace gandem {
namespace {

// Factor by which each new round reduces the weight of the earlier rounds.
constexpr double kDecay = 0.92;
// Excess over the fleet's median compute time that makes a straggler.
constexpr double kStraggles = 0.1;
// Time without a record after which a worker counts as having left.
constexpr double kLeftSeconds = 60;

}  // namespace

void RecentSpeeds::Add(const RoundMetrics& metrics) {
  if (metrics.run_epoch() < run_epoch_) return;
  if (metrics.run_epoch() > run_epoch_) workers_.clear();
  run_epoch_ = metrics.run_epoch();
  Recent& recent = workers_[{metrics.role(), metrics.rank()}];
  const auto add = [](double& sum, double value) {
    sum = kDecay * sum + value;
  };
  const RoundTimes times = TimesOf(metrics);
  const DataMetrics& data = metrics.data();
  recent.times *= kDecay;
  recent.times += times;
  add(recent.rounds, 1);
  add(recent.compute_seconds, std::max(0.0, times.compute()));
  add(recent.images, static_cast<double>(metrics.images()));
  add(recent.data_seconds, data.seconds());
  add(recent.data_images, static_cast<double>(data.images()));
  add(recent.stored_bytes, static_cast<double>(data.stored_bytes()));
  recent.retries += data.retries();
  recent.newest = metrics;
}

std::map<int, RecentSpeeds::Recent> RecentSpeeds::WorkersOf(Role role) const {
  double newest = 0;
  std::map<int, Recent> workers;
  for (const auto& [key, recent] : workers_) {
    if (key.first != role) continue;
    newest = std::max(newest, recent.newest.unix_seconds());
    workers.emplace(key.second, recent);
  }
  std::erase_if(workers, [newest](const auto& worker) {
    return worker.second.newest.unix_seconds() < newest - kLeftSeconds;
  });
  return workers;
}

// Returns the sum of speeds, the largest lag, and the mean shares of time.
FleetStatus RecentSpeeds::Fleet(Role role) const {
  FleetStatus fleet;
  fleet.set_role(role);
  fleet.set_straggler(-1);
  RoundTimes times;
  std::vector<double> compute;  // of a round
  std::pair<double, int> slowest = {0, -1};
  for (const auto& [rank, recent] : WorkersOf(role)) {
    fleet.set_workers(fleet.workers() + 1);
    fleet.set_lag(std::max(fleet.lag(), recent.newest.lag()));
    if (recent.times.round > 0) {
      fleet.set_images_per_second(fleet.images_per_second() +
                                  recent.images / recent.times.round);
    }
    times += recent.times;
    compute.push_back(recent.compute_seconds / recent.rounds);
    slowest = std::max(slowest, {compute.back(), rank});
  }
  if (times.round > 0) fleet.set_sync_share(times.sync / times.round);
  const double median = compute.empty() ? 0 : Median(compute);
  if (median > 0 && slowest.first > (1 + kStraggles) * median) {
    fleet.set_straggler(slowest.second);
    fleet.set_straggler_excess(slowest.first / median - 1);
  }
  return fleet;
}

RoleLoad RecentSpeeds::Load(Role role) const {
  RoundTimes times;
  double rounds = 0;
  const std::map<int, Recent> workers = WorkersOf(role);
  for (const auto& [rank, recent] : workers) {
    times += recent.times;
    rounds += recent.rounds;
  }
  return LoadOf(static_cast<int>(workers.size()), rounds, times);
}

void RecentSpeeds::Complete(StatusReply& status) const {
  status.clear_fleets();
  bool has_several = false;
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    FleetStatus fleet = Fleet(role);
    has_several = has_several || fleet.workers() > 1;
    if (fleet.workers() > 0) *status.add_fleets() = std::move(fleet);
  }
  if (!has_several) status.clear_fleets();
  status.set_limit(LimitText(Load(GENERATOR), Load(DISCRIMINATOR)));
  CompleteData(status);
}

// Sets the sums of speeds and settings, and the mean shares of time.
void RecentSpeeds::CompleteData(StatusReply& status) const {
  DataStatus data;
  RoundTimes times;
  bool is_known = false;
  for (const auto& [worker, recent] : workers_) {
    if (worker.first != DISCRIMINATOR || !recent.newest.has_data()) continue;
    is_known = true;
    times += recent.times;
    if (recent.data_seconds > 0) {
      data.set_images_per_second(data.images_per_second() +
                                 recent.data_images / recent.data_seconds);
      data.set_stored_bytes_per_second(data.stored_bytes_per_second() +
                                       recent.stored_bytes /
                                           recent.data_seconds);
    }
    const DataMetrics& newest = recent.newest.data();
    data.set_waiting_images(data.waiting_images() + newest.waiting_images());
    data.set_images_ahead(data.images_ahead() + newest.images_ahead());
    data.set_fetches(data.fetches() + newest.fetches());
    data.set_workers(data.workers() + newest.workers());
    data.set_retries(data.retries() + recent.retries);
  }
  if (!is_known) return;
  if (times.round > 0) data.set_wait_share(times.data / times.round);
  data.set_stage(times.data_stage());
  *status.mutable_data() = std::move(data);
}

std::string DataWaitText(const DataStatus& data) {
  return absl::StrFormat("waits for data %.0f%%%s%s", 100 * data.wait_share(),
                         data.stage().empty() ? "" : ": ", data.stage());
}

std::string DataLine(const StatusReply& status) {
  if (!status.has_data()) return "";
  const DataStatus& data = status.data();
  std::string text = absl::StrFormat(
      "  real images: %.0f/s, %d of %d ahead, %d decode threads",
      data.images_per_second(), data.waiting_images(), data.images_ahead(),
      data.workers());
  if (data.fetches() > 0) {
    absl::StrAppendFormat(&text, ", %d fetches, %.1f MB/s", data.fetches(),
                          1e-6 * data.stored_bytes_per_second());
  }
  if (data.retries() > 0) {
    absl::StrAppend(&text, ", ", data.retries(), " retries");
  }
  return text + "\n";
}

}  // namespace gandem
