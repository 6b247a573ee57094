// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/simulation/simulated_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/philox.h"
#include "common/status.h"
#include "scaling_manager/planner/simulation/event_queue.h"
#include "scaling_manager/planner/simulation/simulated_host.h"
#include "scaling_manager/planner/simulation/simulated_network.h"
#include "scaling_manager/planner/simulation/simulated_roles.h"
#include "scaling_manager/planner/simulation/simulated_sums.h"

namespace gandem {
namespace {

// Stretches whose lengths differ by less are steady,
constexpr double kSteady = 1e-9;
// if the generators' differ by less from the discriminators': while one role
// gets ahead of the other, neither waits, but one will.
constexpr double kInStep = 0.005;

// What a run has done up to a moment.
struct Moment {
  double time = 0;
  RoleWaits generator = {};
  RoleWaits discriminator = {};
  std::map<SimulatedNetwork::Pair, int64_t> bytes = {};
  std::vector<double> busy = {};
};

class SimulatedRun {
 public:
  SimulatedRun(const RunShape& shape, const SimulationOptions& options)
      : shape_(shape),
        options_(options),
        network_(&shape_, &queue_),
        exchange_(&shape_, &network_),
        generator_rounds_(shape_.generator.size()),
        discriminator_rounds_(shape_.discriminator.size()) {
    MakeHosts();
    MakeSums();
    MakeRoles();
    exchange_.SetWakers(
        [this](int rank) { workers_[shape_.generator.processes[rank]].Wake(); },
        [this](int rank) {
          workers_[shape_.discriminator.processes[rank]].Wake();
        });
    for (size_t i = 0; i < workers_.size(); ++i) {
      queue_.At(0, [this, i] { workers_[i].Wake(); });
    }
  }
  // The parts point to each other.
  SimulatedRun(const SimulatedRun&) = delete;
  SimulatedRun& operator=(const SimulatedRun&) = delete;

  // Until the discriminators have ended `rounds` rounds.
  absl::Status RunTo(int64_t rounds) {
    while (std::ssize(discriminator_rounds_.ends) < rounds) {
      if (!queue_.RunNext()) return Stuck();
    }
    return absl::OkStatus();
  }

  // Of the last `rounds` rounds of the generators; infinite before there are so
  // many.
  double GeneratorSeconds(int64_t rounds) const;

  Moment Now() const;
  SimulatedRounds Between(const Moment& begin, const Moment& end,
                          int64_t rounds) const;

 private:
  // The rounds that a whole fleet has ended.
  struct FleetRounds {
    explicit FleetRounds(int ranks) : size(ranks) {}

    void Finish(int64_t round, double now) {
      finishers.resize(std::max<size_t>(finishers.size(), round + 1), 0);
      if (++finishers[round] == size) ends.push_back(now);
    }

    const int size;
    std::vector<int> finishers = {};  // by round: ranks that have ended it
    std::vector<double> ends = {};
  };

  void MakeHosts();
  void MakeSums();
  void MakeRoles();
  RoleSurroundings Around(const RoleShape& role, int rank);
  std::unique_ptr<SimulatedSums> SumsOf(const RoleShape& role,
                                        std::vector<SumPart> parts);
  double Jitter(Role role, int rank, int64_t round) const;
  double DecodersOf(int rank) const;
  RoleWaits MeanWaits(const RoleShape& role) const;
  absl::Status Stuck() const;

  const RunShape shape_;
  const SimulationOptions options_;
  EventQueue queue_;
  SimulatedNetwork network_;
  SimulatedExchange exchange_;
  std::vector<std::unique_ptr<SimulatedHost>> hosts_;
  std::vector<SimulatedWorker> workers_;
  // Null: nothing to sum, or to average.
  std::unique_ptr<SimulatedSums> generator_gradients_;
  std::unique_ptr<SimulatedSums> generator_states_;
  std::unique_ptr<SimulatedSums> discriminator_gradients_;
  std::unique_ptr<SimulatedSums> discriminator_states_;
  std::vector<std::unique_ptr<SimulatedRole>> roles_;

  FleetRounds generator_rounds_;
  FleetRounds discriminator_rounds_;
};

void SimulatedRun::MakeHosts() {
  for (size_t i = 0; i < shape_.hosts.size(); ++i) {
    const auto processes =
        std::ranges::count(shape_.processes, i, &ProcessShape::host);
    hosts_.push_back(
        std::make_unique<SimulatedHost>(shape_.hosts[i], shape_.ThreadsOn(i),
                                        static_cast<int>(processes), &queue_));
  }
  for (const ProcessShape& process : shape_.processes) {
    workers_.emplace_back(process.threads, hosts_[process.host].get(), &queue_);
  }
}

std::unique_ptr<SimulatedSums> SimulatedRun::SumsOf(
    const RoleShape& role, std::vector<SumPart> parts) {
  std::vector<size_t> hosts;
  for (int rank = 0; rank < role.size(); ++rank) {
    hosts.push_back(shape_.HostOf(role, rank));
  }
  std::ranges::sort(hosts);
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  const auto wake = [this, &role] {
    for (const size_t process : role.processes) workers_[process].Wake();
  };
  return std::make_unique<SimulatedSums>(role.size(), std::move(parts),
                                         std::move(hosts), &network_, &queue_,
                                         wake);
}

void SimulatedRun::MakeSums() {
  const auto make = [this](const RoleShape& role,
                           std::unique_ptr<SimulatedSums>& gradients,
                           std::unique_ptr<SimulatedSums>& states) {
    if (role.size() < 2) return;
    if (role.sums.averages_state) {
      states = SumsOf(role, StateParts(shape_, role));
    } else {
      gradients = SumsOf(role, GradientParts(shape_, role));
    }
  };
  make(shape_.generator, generator_gradients_, generator_states_);
  make(shape_.discriminator, discriminator_gradients_, discriminator_states_);
}

RoleSurroundings SimulatedRun::Around(const RoleShape& role, int rank) {
  const bool is_generator = role.role == GENERATOR;
  const size_t process = role.processes[rank];
  const size_t host = shape_.processes[process].host;
  RoleSurroundings around = {
      .shape = &shape_,
      .exchange = &exchange_,
      .network = &network_,
      .queue = &queue_,
      .gradients = is_generator ? generator_gradients_.get()
                                : discriminator_gradients_.get(),
      .states =
          is_generator ? generator_states_.get() : discriminator_states_.get(),
      .finished_round =
          [this, is_generator](int64_t round) {
            (is_generator ? generator_rounds_ : discriminator_rounds_)
                .Finish(round, queue_.now());
          },
      .wake = [this, process] { workers_[process].Wake(); },
      .network_share =
          shape_.hosts[host].has_devices
              ? 0
              : std::min(1.0, static_cast<double>(shape_.ThreadsOn(host)) /
                                  shape_.hosts[host].cores)};
  if (options_.jitter > 0) {
    around.jitter = [this, rank, role = role.role](int64_t round) {
      return Jitter(role, rank, round);
    };
  }
  return around;
}

void SimulatedRun::MakeRoles() {
  for (int rank = 0; rank < shape_.generator.size(); ++rank) {
    roles_.push_back(std::make_unique<SimulatedGenerator>(
        rank, Around(shape_.generator, rank)));
    workers_[shape_.generator.processes[rank]].Add(roles_.back().get());
  }
  for (int rank = 0; rank < shape_.discriminator.size(); ++rank) {
    roles_.push_back(std::make_unique<SimulatedDiscriminator>(
        rank, Around(shape_.discriminator, rank), DecodersOf(rank)));
    workers_[shape_.discriminator.processes[rank]].Add(roles_.back().get());
  }
}

// The free cores of the host, shared by the discriminators there.
double SimulatedRun::DecodersOf(int rank) const {
  const size_t host = shape_.HostOf(shape_.discriminator, rank);
  int ranks = 0;
  for (int other = 0; other < shape_.discriminator.size(); ++other) {
    ranks += shape_.HostOf(shape_.discriminator, other) == host ? 1 : 0;
  }
  return std::max(0.0, hosts_[host]->free_cores() / ranks);
}

// Lognormal with mean 1.
double SimulatedRun::Jitter(Role role, int rank, int64_t round) const {
  PhiloxStream stream(
      options_.seed, Purpose::kSimulatedJitter, static_cast<uint64_t>(round),
      static_cast<uint64_t>(role) << 32 | static_cast<uint64_t>(rank));
  const double sigma = options_.jitter;
  return std::exp(sigma * stream.NextNormal() - sigma * sigma / 2);
}

double SimulatedRun::GeneratorSeconds(int64_t rounds) const {
  const std::vector<double>& ends = generator_rounds_.ends;
  if (std::ssize(ends) <= rounds) {
    return std::numeric_limits<double>::infinity();
  }
  return ends.back() - ends[ends.size() - 1 - rounds];
}

RoleWaits SimulatedRun::MeanWaits(const RoleShape& role) const {
  RoleWaits mean = {};
  // A colocated worker has the generator first.
  const size_t position = shape_.colocated && role.role == DISCRIMINATOR;
  for (const size_t process : role.processes) {
    const RoleWaits waited = workers_[process].Waited(position);
    for (size_t i = 0; i < kNumRoleWaits; ++i) {
      mean[i] += waited[i] / role.size();
    }
  }
  return mean;
}

Moment SimulatedRun::Now() const {
  const std::vector<double>& ends = discriminator_rounds_.ends;
  return {.time = ends.empty() ? 0 : ends.back(),
          .generator = MeanWaits(shape_.generator),
          .discriminator = MeanWaits(shape_.discriminator),
          .bytes = network_.bytes(),
          .busy = network_.busy_seconds()};
}

SimulatedRounds SimulatedRun::Between(const Moment& begin, const Moment& end,
                                      int64_t rounds) const {
  const double count = static_cast<double>(rounds);
  SimulatedRounds result = {.rounds = rounds,
                            .round_seconds = (end.time - begin.time) / count,
                            .round_ends = discriminator_rounds_.ends,
                            .counts = exchange_.counts()};
  for (size_t i = 0; i < kNumRoleWaits; ++i) {
    result.generator_waits[i] = (end.generator[i] - begin.generator[i]) / count;
    result.discriminator_waits[i] =
        (end.discriminator[i] - begin.discriminator[i]) / count;
  }
  for (const auto& [pair, bytes] : end.bytes) {
    const auto before = begin.bytes.find(pair);
    const int64_t sent =
        (bytes - (before == begin.bytes.end() ? 0 : before->second)) / rounds;
    if (sent <= result.link_bytes) continue;
    result.link_bytes = sent;
    result.link = absl::StrCat(shape_.hosts[pair.first].name, "-",
                               shape_.hosts[pair.second].name);
  }
  if (end.time > begin.time) {
    for (size_t i = 0; i < end.busy.size(); ++i) {
      result.link_share =
          std::max(result.link_share,
                   (end.busy[i] - begin.busy[i]) / (end.time - begin.time));
    }
  }
  return result;
}

absl::Status SimulatedRun::Stuck() const {
  return absl::InternalError(absl::StrCat(
      "the simulated run does not go on after ",
      discriminator_rounds_.ends.size(), " rounds: generator 0 waits for ",
      static_cast<int>(roles_.front()->wait()), ", the last discriminator for ",
      static_cast<int>(roles_.back()->wait())));
}

// Of a stretch of the discriminators' rounds, the one before, and as many of
// the generators'.
bool IsSteady(double seconds, double before, double generator_seconds) {
  return std::abs(seconds - before) <= kSteady * std::max(seconds, 1e-300) &&
         std::abs(generator_seconds - seconds) <= kInStep * seconds;
}

}  // namespace

absl::StatusOr<SimulatedRounds> SimulateRun(const RunShape& shape,
                                            const SimulationOptions& options) {
  SimulatedRun run(shape, options);
  // A cycle through both roles takes lag + 1 rounds, one through averages
  // rounds_to_agreement: a stretch has whole ones of both.
  const int64_t cycle = std::min<int64_t>(
      (shape.schedule.lag + 1) * shape.rounds_to_agreement, 4096);
  const bool is_random = options.jitter > 0;
  const int64_t stretch =
      is_random ? std::max<int64_t>(1, options.rounds) : cycle;
  int64_t rounds = std::max(cycle, 2 * (shape.schedule.lag + 2));
  GANDEM_RETURN_IF_ERROR(run.RunTo(rounds));
  Moment begin = run.Now();
  // Rounds that never get steady are those of the later half.
  Moment half = begin;
  int64_t half_rounds = rounds;
  double last = -1;
  for (;;) {
    rounds += stretch;
    GANDEM_RETURN_IF_ERROR(run.RunTo(rounds));
    const Moment end = run.Now();
    const double seconds = end.time - begin.time;
    if (is_random || IsSteady(seconds, last, run.GeneratorSeconds(stretch))) {
      return run.Between(begin, end, stretch);
    }
    if (rounds + stretch > options.rounds + cycle) {
      return run.Between(half, end, rounds - half_rounds);
    }
    if (half_rounds < options.rounds / 2) {
      half = end;
      half_rounds = rounds;
    }
    last = seconds;
    begin = end;
  }
}

}  // namespace gandem
