// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/simulation/simulated_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/config/role_name.h"
#include "common/status.h"
#include "scaling_manager/planner/model/run_shape.h"
#include "scaling_manager/planner/simulation/simulated_roles.h"

namespace gandem {
namespace {

// Relative difference below which two series of rounds take equally long.
constexpr double kSteady = 1e-9;
// Relative difference between the two roles below which rounds are steady.
// While one role gets ahead, neither waits, but one eventually will.
constexpr double kInStep = 0.005;

struct Moment {
  double time = 0;
  RoleWaits generator = {};
  RoleWaits discriminator = {};
  std::map<SimulatedNetwork::Pair, int64_t> bytes = {};
  std::vector<double> busy = {};
};

std::unique_ptr<SimulatedSums> SumsOf(Simulation& run, const RoleShape& role,
                                      std::vector<SumPart> parts) {
  std::set<size_t> hosts;
  for (int rank = 0; rank < role.size(); ++rank) {
    hosts.insert(run.shape.HostOf(role, rank));
  }
  const auto wake = [&run, &role] {
    for (const size_t process : role.processes) run.workers[process].Wake();
  };
  return std::make_unique<SimulatedSums>(
      role.size(), std::move(parts),
      std::vector<size_t>(hosts.begin(), hosts.end()), &run.network, &run.queue,
      wake);
}

SimulatedFleet FleetOf(Simulation& run, const RoleShape& role) {
  SimulatedFleet fleet = {.role = &role};
  if (role.size() < 2) return fleet;
  if (role.sums.averages_state) {
    fleet.states = SumsOf(run, role, StateParts(run.shape, role));
  } else {
    fleet.gradients = SumsOf(run, role, GradientParts(run.shape, role));
  }
  return fleet;
}

// Returns the seconds of the generators' last `rounds` rounds, or infinity.
double GeneratorSeconds(const Simulation& run, int64_t rounds) {
  const std::vector<double>& ends = run.generators.ends;
  if (std::ssize(ends) <= rounds) {
    return std::numeric_limits<double>::infinity();
  }
  return ends.back() - ends[ends.size() - 1 - rounds];
}

RoleWaits MeanWaits(const Simulation& run, const RoleShape& role) {
  RoleWaits mean = {};
  // A colocated worker runs the generator first.
  const size_t position = run.shape.colocated && role.role == DISCRIMINATOR;
  for (const size_t process : role.processes) {
    const RoleWaits waited = run.workers[process].Waited(position);
    for (size_t i = 0; i < kNumRoleWaits; ++i) {
      mean[i] += waited[i] / role.size();
    }
  }
  return mean;
}

Moment Now(const Simulation& run) {
  const std::vector<double>& ends = run.discriminators.ends;
  return {.time = ends.empty() ? 0 : ends.back(),
          .generator = MeanWaits(run, run.shape.generator),
          .discriminator = MeanWaits(run, run.shape.discriminator),
          .bytes = run.network.bytes(),
          .busy = run.network.busy_seconds()};
}

SimulatedRounds Between(const Simulation& run, const Moment& begin,
                        const Moment& end, int64_t rounds) {
  const double count = static_cast<double>(rounds);
  SimulatedRounds result = {.rounds = rounds,
                            .round_seconds = (end.time - begin.time) / count,
                            .round_ends = run.discriminators.ends,
                            .counts = run.exchange.counts()};
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
    result.link = absl::StrCat(run.shape.hosts[pair.first].name, "-",
                               run.shape.hosts[pair.second].name);
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

absl::Status Stuck(const Simulation& run) {
  return absl::InternalError(absl::StrCat(
      "the simulated run is stuck after ", run.discriminators.ends.size(),
      " rounds: generator 0 waits for ",
      static_cast<int>(run.roles.front()->wait()),
      ", the last discriminator for ",
      static_cast<int>(run.roles.back()->wait())));
}

// Runs until the discriminators have ended `rounds` rounds.
absl::Status RunTo(int64_t rounds, Simulation& run) {
  while (std::ssize(run.discriminators.ends) < rounds) {
    if (!run.queue.RunNext()) return Stuck(run);
  }
  return absl::OkStatus();
}

// Returns whether a series of the discriminators' rounds takes as long as the
// previous series and as the generators' last rounds.
bool IsSteady(double seconds, double before, double generator_seconds) {
  return std::abs(seconds - before) <= kSteady * std::max(seconds, 1e-300) &&
         std::abs(generator_seconds - seconds) <= kInStep * seconds;
}

// A role that waits for a smaller share counts as always computing.
constexpr double kBusy = 0.05;
// Share of the time above which a sending link is the bottleneck.
constexpr double kFullLink = 0.9;

double Total(const RoleWaits& waits) {
  return std::accumulate(waits.begin(), waits.end(), 0.0);
}

double Share(const SimulatedRounds& rounds, const RoleWaits& waits) {
  if (rounds.round_seconds <= 0) return 0;
  return std::clamp(Total(waits) / rounds.round_seconds, 0.0, 1.0);
}

// Names the longest of the role's waits.
std::string LongestWait(const RunShape& shape, Role role,
                        const RoleWaits& waits) {
  const auto longest =
      static_cast<RoleWait>(std::ranges::max_element(waits) - waits.begin());
  switch (longest) {
    case RoleWait::kFleet:
      return absl::StrCat(RoleName(role), "'s sums");
    case RoleWait::kData:
      return "real images";
    case RoleWait::kCache:
    case RoleWait::kOtherRole:
    case RoleWait::kNone:
      break;
  }
  return absl::StrCat("roles in turn at lag ", shape.schedule.lag);
}

std::string BottleneckOf(const RunShape& shape, const SimulatedRounds& rounds) {
  if (shape.colocated) return "one worker computing both roles";
  const double generator = Share(rounds, rounds.generator_waits);
  const double discriminator = Share(rounds, rounds.discriminator_waits);
  if (std::min(generator, discriminator) < kBusy) {
    return absl::StrCat(
        RoleName(generator < discriminator ? GENERATOR : DISCRIMINATOR),
        " computing");
  }
  if (rounds.link_share > kFullLink) return absl::StrCat("link ", rounds.link);
  // Both roles wait: name the longest wait of the role that waits less.
  return generator < discriminator
             ? LongestWait(shape, GENERATOR, rounds.generator_waits)
             : LongestWait(shape, DISCRIMINATOR, rounds.discriminator_waits);
}

}  // namespace

void SimulatedFleet::FinishRound(int64_t round, double now) {
  finishers.resize(std::max<size_t>(finishers.size(), round + 1), 0);
  if (++finishers[round] == role->size()) ends.push_back(now);
}

Simulation::Simulation(const RunShape& run_shape,
                       const SimulationOptions& run_options)
    : shape(run_shape),
      options(run_options),
      network(&shape, &queue),
      exchange(&shape, &network,
               [this](size_t process) { workers[process].Wake(); }),
      generators(FleetOf(*this, shape.generator)),
      discriminators(FleetOf(*this, shape.discriminator)) {
  for (size_t i = 0; i < shape.hosts.size(); ++i) {
    const auto processes =
        std::ranges::count(shape.processes, i, &ProcessShape::host);
    hosts.push_back(
        std::make_unique<SimulatedHost>(shape.hosts[i], shape.ThreadsOn(i),
                                        static_cast<int>(processes), &queue));
  }
  for (const ProcessShape& process : shape.processes) {
    workers.emplace_back(process.threads, hosts[process.host].get(), &queue);
  }
  for (int rank = 0; rank < shape.generator.size(); ++rank) {
    roles.push_back(std::make_unique<SimulatedGenerator>(this, rank));
    workers[shape.generator.processes[rank]].Add(roles.back().get());
  }
  for (int rank = 0; rank < shape.discriminator.size(); ++rank) {
    roles.push_back(std::make_unique<SimulatedDiscriminator>(this, rank));
    workers[shape.discriminator.processes[rank]].Add(roles.back().get());
  }
  for (size_t i = 0; i < workers.size(); ++i) {
    queue.At(0, [this, i] { workers[i].Wake(); });
  }
}

absl::StatusOr<SimulatedRounds> SimulateRun(const RunShape& shape,
                                            const SimulationOptions& options) {
  Simulation run(shape, options);
  // A cycle through both roles takes lag + 1 rounds, a cycle of averages
  // rounds_to_agreement. A stretch has whole cycles of both.
  const int64_t cycle = std::min<int64_t>(
      (shape.schedule.lag + 1) * shape.rounds_to_agreement, 4096);
  const bool is_random = options.jitter > 0;
  const int64_t stretch =
      is_random ? std::max<int64_t>(1, options.rounds) : cycle;
  int64_t rounds = std::max(cycle, 2 * (shape.schedule.lag + 2));
  GANDEM_RETURN_IF_ERROR(RunTo(rounds, run));
  Moment begin = Now(run);
  // If rounds never become steady, use the second half.
  Moment half = begin;
  int64_t half_rounds = rounds;
  double last = -1;
  for (;;) {
    rounds += stretch;
    GANDEM_RETURN_IF_ERROR(RunTo(rounds, run));
    const Moment end = Now(run);
    const double seconds = end.time - begin.time;
    if (is_random || IsSteady(seconds, last, GeneratorSeconds(run, stretch))) {
      return Between(run, begin, end, stretch);
    }
    if (rounds + stretch > options.rounds + cycle) {
      return Between(run, half, end, rounds - half_rounds);
    }
    if (half_rounds < options.rounds / 2) {
      half = end;
      half_rounds = rounds;
    }
    last = seconds;
    begin = end;
  }
}

Prediction SummaryOf(const RunShape& shape, const SimulatedRounds& rounds) {
  Prediction prediction;
  prediction.set_round_seconds(rounds.round_seconds);
  if (rounds.round_seconds > 0) {
    prediction.set_images_per_second(
        static_cast<double>(shape.schedule.TrainImagesPerRound()) /
        rounds.round_seconds);
  }
  prediction.set_generator_wait(Share(rounds, rounds.generator_waits));
  prediction.set_discriminator_wait(Share(rounds, rounds.discriminator_waits));
  prediction.set_link_bytes(rounds.link_bytes);
  prediction.set_bottleneck(BottleneckOf(shape, rounds));
  return prediction;
}

}  // namespace gandem
