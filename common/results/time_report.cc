// SPDX-License-Identifier: Apache-2.0
#include "common/results/time_report.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "common/config/role_name.h"
#include "common/results/median.h"

namespace gandem {
namespace {

constexpr double kStragglerExcess = 0.10;

// Time of a round; run epochs follow each other.
using When = std::pair<int64_t, int64_t>;  // run epoch, round

// Counted rounds of a role, by rank.
using RankRounds = std::map<int, std::map<int64_t, RoundRecord>>;

double NearestRank(std::vector<double> values, double share) {
  std::ranges::sort(values);
  const double rank = std::ceil(share * static_cast<double>(values.size()));
  return values[static_cast<size_t>(std::max(1.0, rank)) - 1];
}

RankRounds RoundsOf(Role role, const RoundHistory& history) {
  RankRounds result;
  for (const auto& [worker, rounds] : history.rounds()) {
    if (worker.role == role) result[worker.rank] = rounds;
  }
  // Records of older versions lack the number of workers.
  for (auto& [rank, rounds] : result) {
    for (auto& [round, record] : rounds) {
      if (record.workers == 0) record.workers = static_cast<int>(result.size());
    }
  }
  return result;
}

// Returns the last round with another number of workers, or (-1, -1).
When LastOfOtherShape(const RankRounds& ranks) {
  std::map<When, int> workers;
  for (const auto& [rank, rounds] : ranks) {
    for (const auto& [round, record] : rounds) {
      workers.emplace(When{record.run_epoch, round}, record.workers);
    }
  }
  const auto last = std::find_if(
      workers.rbegin(), workers.rend(), [&workers](const auto& item) {
        return item.second != workers.rbegin()->second;
      });
  return last == workers.rend() ? When{-1, -1} : last->first;
}

void LeaveOut(absl::FunctionRef<bool(When)> unwanted, RankRounds& ranks) {
  for (auto& [rank, rounds] : ranks) {
    std::erase_if(rounds, [&](const auto& item) {
      return unwanted({item.second.run_epoch, item.first});
    });
  }
  std::erase_if(ranks, [](const auto& item) { return item.second.empty(); });
}

// Returns the number of rounds left out of each run epoch.
int64_t LeaveOutWarmUp(RankRounds& ranks) {
  std::map<int64_t, int64_t> first;  // round, by run epoch
  std::set<int64_t> all;
  for (const auto& [rank, rounds] : ranks) {
    for (const auto& [round, record] : rounds) {
      const auto [at, is_new] = first.emplace(record.run_epoch, round);
      if (!is_new) at->second = std::min(at->second, round);
      all.insert(round);
    }
  }
  const int64_t warm_up =
      std::min<int64_t>(kWarmUpRounds, static_cast<int64_t>(all.size()) / 5);
  RankRounds rest = ranks;
  LeaveOut(
      [&](When when) { return when.second < first.at(when.first) + warm_up; },
      rest);
  // Many short run epochs.
  if (rest.empty()) return 0;
  ranks = std::move(rest);
  return warm_up;
}

TimeRow RowOf(const std::vector<const RoundRecord*>& records) {
  TimeRow row;
  std::vector<double> seconds;
  int64_t images = 0;
  int64_t bytes = 0;
  for (const RoundRecord* const record : records) {
    row.rounds += record->rounds;
    row.times += record->times;
    seconds.push_back(record->one_round_seconds);
    images += record->images;
    bytes += record->sync_bytes;
  }
  row.images_per_second =
      row.times.round > 0 ? static_cast<double>(images) / row.times.round : 0;
  row.median_round_seconds = Median(seconds);
  row.p95_round_seconds = NearestRank(std::move(seconds), 0.95);
  row.sync_bytes_per_round =
      static_cast<double>(bytes) / static_cast<double>(row.rounds);
  return row;
}

// Compares compute times, because other ranks wait for a straggler.
void FindStragglers(std::vector<RankTimes>& ranks) {
  std::vector<double> computes;
  for (const RankTimes& rank : ranks) {
    computes.push_back(rank.row.times.compute() /
                       static_cast<double>(rank.row.rounds));
  }
  const double median = Median(computes);
  if (median <= 0) return;
  for (size_t i = 0; i < ranks.size(); ++i) {
    ranks[i].over_median = computes[i] / median - 1;
    ranks[i].is_straggler = ranks[i].over_median > kStragglerExcess;
  }
}

int HostsOf(Role role, const StatusReply& workers) {
  std::set<std::string> hosts;
  for (const WorkerStatus& worker : workers.workers()) {
    if (role == ROLE_UNKNOWN || worker.role() == role ||
        worker.role() == COLOCATED) {
      hosts.insert(worker.host());
    }
  }
  return static_cast<int>(hosts.size());
}

// Sums images/s over the workers; other figures cover all their rounds.
RoleTimes RoleTimesOf(Role role, const RunFacts& facts,
                      const RankRounds& ranks) {
  RoleTimes result = {.role = role,
                      .workers = ranks.begin()->second.begin()->second.workers,
                      .hosts = HostsOf(role, facts.workers),
                      .global_batch = role == GENERATOR
                                          ? facts.generator_batch
                                          : facts.discriminator_batch};
  std::vector<const RoundRecord*> all;
  double images_per_second = 0;
  for (const auto& [rank, rounds] : ranks) {
    std::vector<const RoundRecord*> records;
    for (const auto& [round, record] : rounds) records.push_back(&record);
    all.insert(all.end(), records.begin(), records.end());
    result.ranks.push_back({.rank = rank, .row = RowOf(records)});
    images_per_second += result.ranks.back().row.images_per_second;
  }
  result.row = RowOf(all);
  result.row.images_per_second = images_per_second;
  FindStragglers(result.ranks);
  if (role == DISCRIMINATOR && images_per_second > 0) {
    result.epoch_seconds =
        static_cast<double>(facts.dataset_images) / images_per_second;
  }
  return result;
}

}  // namespace

absl::StatusOr<TimeReport> MakeTimeReport(const RunFacts& facts,
                                          const RoundHistory& history) {
  const auto& workers = facts.workers.workers();
  TimeReport report = {
      .name = facts.name,
      .is_colocated = !workers.empty() && workers[0].role() == COLOCATED,
      .first_round = INT64_MAX,
      .unreadable_lines = history.unreadable_lines(),
      .fused_backward = facts.fused_backward,
      .lag = facts.lag,
      .hosts = HostsOf(ROLE_UNKNOWN, facts.workers)};
  std::map<Role, RankRounds> roles;
  When other_shape = {-1, -1};
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    roles[role] = RoundsOf(role, history);
    other_shape = std::max(other_shape, LastOfOtherShape(roles[role]));
  }
  report.has_other_shapes = other_shape.first >= 0;
  for (auto& [role, ranks] : roles) {
    LeaveOut([&](When when) { return when <= other_shape; }, ranks);
    if (ranks.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the ", RoleName(role),
          report.has_other_shapes
              ? " has done no round with the present numbers of workers"
              : " has done no round yet"));
    }
    report.warm_up_rounds =
        std::max(report.warm_up_rounds, LeaveOutWarmUp(ranks));
    for (const auto& [rank, rounds] : ranks) {
      report.first_round = std::min(report.first_round, rounds.begin()->first);
      report.last_round = std::max(report.last_round, rounds.rbegin()->first);
    }
    report.roles.push_back(RoleTimesOf(role, facts, ranks));
    report.times += report.roles.back().row.times;
  }
  report.noise = NoiseRows(history, report.first_round);
  report.warnings = history.warnings();
  return report;
}

std::string ScalingFrom(const TimeReport& first, const TimeReport& run) {
  bool has_other_workers = false;
  bool is_strong = true;
  bool is_weak = true;
  for (size_t i = 0; i < run.roles.size(); ++i) {
    const RoleTimes& a = first.roles[i];
    const RoleTimes& b = run.roles[i];
    has_other_workers = has_other_workers || a.workers != b.workers;
    is_strong = is_strong && a.global_batch == b.global_batch;
    is_weak = is_weak && a.batch_per_worker() == b.batch_per_worker();
  }
  if (!has_other_workers) return "-";
  return is_strong ? "S" : is_weak ? "W" : "-";
}

}  // namespace gandem
