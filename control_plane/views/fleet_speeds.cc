// SPDX-License-Identifier: Apache-2.0
#include "control_plane/views/fleet_speeds.h"

#include <algorithm>
#include <utility>

#include "common/results/median.h"
#include "common/round_times.h"

namespace gandem {
namespace {

// Each round takes this much off the weight of those before it.
constexpr double kDecay = 0.92;
// A worker that computes longer than the middle of its fleet by more than this
// is a straggler: all the others wait for it.
constexpr double kStraggles = 0.1;
// Workers that have said nothing for so long have left the fleet.
constexpr double kLeftSeconds = 60;

}  // namespace

// Sums that decay by rounds. A new run epoch begins with none, for workers may
// be others.
void FleetSpeeds::Add(const RoundMetrics& metrics) {
  if (metrics.run_epoch() < run_epoch_) return;
  if (metrics.run_epoch() > run_epoch_) workers_.clear();
  run_epoch_ = metrics.run_epoch();
  Recent& recent = workers_[{metrics.role(), metrics.rank()}];
  const auto add = [](double& sum, double value) {
    sum = kDecay * sum + value;
  };
  add(recent.rounds, 1);
  recent.times *= kDecay;
  recent.times += TimesOf(metrics);
  add(recent.compute_seconds, std::max(0.0, TimesOf(metrics).compute()));
  add(recent.images, static_cast<double>(metrics.images()));
  recent.unix_seconds = metrics.unix_seconds();
  recent.lag = metrics.lag();
}

std::map<int, FleetSpeeds::Recent> FleetSpeeds::WorkersOf(Role role) const {
  double newest = 0;
  std::map<int, Recent> workers;
  for (const auto& [key, recent] : workers_) {
    if (key.first != role) continue;
    newest = std::max(newest, recent.unix_seconds);
    workers.emplace(key.second, recent);
  }
  std::erase_if(workers, [newest](const auto& worker) {
    return worker.second.unix_seconds < newest - kLeftSeconds;
  });
  return workers;
}

// Speeds add up; the lag is the largest; shares of time are over all workers
// together.
FleetStatus FleetSpeeds::Fleet(Role role) const {
  FleetStatus fleet;
  fleet.set_role(role);
  fleet.set_straggler(-1);
  RoundTimes times;
  std::vector<double> compute;  // of a round
  std::pair<double, int> slowest = {0, -1};
  for (const auto& [rank, recent] : WorkersOf(role)) {
    fleet.set_workers(fleet.workers() + 1);
    fleet.set_lag(std::max(fleet.lag(), recent.lag));
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

RoleLoad FleetSpeeds::Load(Role role) const {
  const std::map<int, Recent> workers = WorkersOf(role);
  RoundTimes times;
  double rounds = 0;
  for (const auto& [rank, recent] : workers) {
    times += recent.times;
    rounds += recent.rounds;
  }
  return LoadOf(static_cast<int>(workers.size()), rounds, times);
}

std::string FleetSpeeds::Limit() const {
  return LimitText(Load(GENERATOR), Load(DISCRIMINATOR));
}

// Nothing for one worker per role: the progress has its figures already.
std::vector<FleetStatus> FleetSpeeds::Fleets() const {
  std::vector<FleetStatus> fleets;
  bool has_several = false;
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    FleetStatus fleet = Fleet(role);
    has_several = has_several || fleet.workers() > 1;
    if (fleet.workers() > 0) fleets.push_back(std::move(fleet));
  }
  return has_several ? fleets : std::vector<FleetStatus>();
}

}  // namespace gandem
