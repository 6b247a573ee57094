// SPDX-License-Identifier: Apache-2.0
#include "worker/profile/probe_run.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/check.h"
#include "common/monotonic_time.h"
#include "common/process/machine.h"
#include "common/round_times.h"
#include "common/status.h"
#include "models/torch.h"
#include "training/compute/choose_compute.h"
#include "training/compute/devices.h"
#include "training/objective/augment.h"
#include "training/roles/run_roles.h"
#include "training/state/catch_torch.h"
#include "training/state/module_state.h"
#include "worker/profile/repetitions.h"
#include "worker/profile/stand_in_exchange.h"

namespace gandem {
namespace {

// Limits of the warm-up.
constexpr size_t kMostWarmUps = 3;
constexpr double kWarmUpSeconds = 0.3;
constexpr double kSettledWithin = 0.05;
// Limits of the rounds whose operations wait for GPUs.
constexpr int64_t kGpuRepetitions = 5;
constexpr absl::Duration kLongestOnGpus = absl::Seconds(5);

OperationTime TimeOf(OperationTime::Operation operation,
                     const MedianInterval& interval) {
  OperationTime time;
  time.set_operation(operation);
  time.set_median_seconds(interval.median);
  time.set_low_seconds(interval.low);
  time.set_high_seconds(interval.high);
  time.set_repetitions(static_cast<int32_t>(interval.values));
  return time;
}

// Makes a discriminator version in the form that generators receive.
absl::StatusOr<SharedBytes> MakeCritic(const RunPlan& plan) {
  if (plan.schedule().AnswersImages()) return SharedBytes();
  NetworkPlan network = plan.discriminator.network;
  network.device = plan.generator.network.device;
  GANDEM_ASSIGN_OR_RETURN(const Compute compute,
                          ComputeFrom(network, Resolve(network, {})));
  GANDEM_ASSIGN_OR_RETURN(const auto critic,
                          NewDiscriminator(network, compute));
  AddAdaBuffer(plan.objective.augmentation.ada, *critic);
  return PackModule(*critic);
}

}  // namespace

ProbeRun::ProbeRun(Role role, const RunConfig& config)
    : role_(role),
      config_(config),
      plan_(WithDevices(MakeRunPlan(EffectiveRunConfig::OfValid(config)),
                        /*position=*/0)),
      turn_(RoundsOfTurn(role, config.schedule())),
      repetition_(RoundsOfRepetition(role, config)),
      gate_(/*first_round=*/0, plan_.rounds) {}

absl::StatusOr<std::unique_ptr<ProbeRun>> ProbeRun::Create(
    Role role, const RoleFactories& factories, const RunConfig& config) {
  std::unique_ptr<ProbeRun> run(new ProbeRun(role, config));
  GANDEM_RETURN_IF_ERROR(CatchTorch([&] { return run->Build(factories); }));
  return run;
}

absl::Status ProbeRun::Build(const RoleFactories& factories) {
  GANDEM_RETURN_IF_ERROR(MakeExchanges());
  GANDEM_RETURN_IF_ERROR(BuildRoles(factories));
  resting_bytes_ = ResidentMemory().now_bytes;
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    if (!Plays(role)) continue;
    const NetworkPlan& network = role == GENERATOR
                                     ? plan_.generator.network
                                     : plan_.discriminator.network;
    GANDEM_ASSIGN_OR_RETURN(const at::Device device,
                            ParseDevice(network.device));
    if (!device.is_cuda()) continue;
    gpus_[device.index()] = MemoryInUse(device).now_bytes;
  }
  return absl::OkStatus();
}

absl::Status ProbeRun::MakeExchanges() {
  const ExchangeOptions options = ExchangeAt(plan_, {});
  if (role_ == COLOCATED) {
    GANDEM_ASSIGN_OR_RETURN(
        ends_, ExchangeEnds::Create(role_, options, /*listen=*/""));
    return ends_->Connect({}, absl::InfinitePast());
  }
  if (role_ == GENERATOR) {
    GANDEM_ASSIGN_OR_RETURN(SharedBytes critic, MakeCritic(plan_));
    generator_exchange_ = StandInForDiscriminators(options, std::move(critic));
    return absl::OkStatus();
  }
  discriminator_exchange_ = StandInForGenerators(options);
  return absl::OkStatus();
}

absl::Status ProbeRun::BuildRoles(const RoleFactories& factories) {
  RoleSetup setup;
  setup.services.gate = &gate_;
  setup.services.report = [this](const RoundMetrics& metrics) {
    EndRound(metrics);
  };
  if (Plays(GENERATOR)) {
    GANDEM_ASSIGN_OR_RETURN(
        roles_.emplace_back(),
        factories.generator(
            plan_, setup,
            ends_ ? ends_->generator() : generator_exchange_.get()));
  }
  if (Plays(DISCRIMINATOR)) {
    GANDEM_ASSIGN_OR_RETURN(
        roles_.emplace_back(),
        factories.discriminator(
            plan_, setup,
            ends_ ? ends_->discriminator() : discriminator_exchange_.get()));
  }
  return absl::OkStatus();
}

void ProbeRun::EndRound(const RoundMetrics& metrics) {
  // With alternating roles, a round ends with the discriminator's round.
  if (role_ == COLOCATED && metrics.role() != DISCRIMINATOR) return;
  // round_seconds would include the answer to a call in the first round.
  const absl::Time now = MonotonicNow();
  const RoundTimes times = TimesOf(metrics);
  rounds_.push_back(
      {.seconds = std::max(0.0, absl::ToDoubleSeconds(now - round_began_) -
                                    (times.round - times.compute())),
       .operations = SumOfSpans(trace_.Take(), config_.schedule().feedback())});
  done_ = std::ssize(rounds_) % turn_ == 0 && is_enough_();
  round_began_ = MonotonicNow();  // excludes the time of this function
}

absl::Status ProbeRun::RunUntil(std::function<bool()> is_enough) {
  rounds_.clear();
  trace_.Take();
  is_enough_ = std::move(is_enough);
  done_ = false;
  round_began_ = MonotonicNow();
  std::vector<TrainingRole*> roles;
  for (const auto& role : roles_) roles.push_back(role.get());
  const absl::Status ended =
      RunRoles(roles, {.poll = plan_.control.poll, .interrupted = [this] {
                         return done_ ? absl::CancelledError("enough rounds")
                                      : absl::OkStatus();
                       }});
  if (done_) return absl::OkStatus();
  if (!ended.ok()) return ended;
  return absl::InternalError("the rounds of a probe have ended");
}

absl::StatusOr<double> ProbeRun::WarmUp() {
  const absl::Time begin = MonotonicNow();
  GANDEM_RETURN_IF_ERROR(RunUntil([&] {
    return rounds_.size() >= kMostWarmUps ||
           absl::ToDoubleSeconds(MonotonicNow() - begin) >= kWarmUpSeconds;
  }));
  return Means(turn_, [](const Round& round) { return round.seconds; }).back();
}

absl::StatusOr<Probe> ProbeRun::Measure(absl::Duration limit,
                                        bool until_settled) {
  const absl::Time end = MonotonicNow() + limit;
  GANDEM_RETURN_IF_ERROR(RunUntil([&] {
    return MonotonicNow() >= end ||
           (until_settled && RoundInterval().IsWithin(kSettledWithin));
  }));
  const MedianInterval interval = RoundInterval();
  Probe probe;
  probe.set_outcome(Probe::MEASURED);
  probe.set_is_settled(interval.IsWithin(kSettledWithin));
  *probe.mutable_round() = TimeOf(OperationTime::ROUND, interval);
  AddPeaks(probe);
  GANDEM_ASSIGN_OR_RETURN(
      const std::vector<OperationTime> operations,
      gpus_.empty() ? Operations() : OperationsOnGpus(limit, interval.median));
  probe.mutable_operations()->Add(operations.begin(), operations.end());
  return probe;
}

std::vector<OperationTime> ProbeRun::Operations() const {
  OperationSeconds seen;
  for (const Round& round : rounds_) {
    seen.insert(round.operations.begin(), round.operations.end());
  }
  std::vector<OperationTime> times;
  for (const auto& [operation, seconds] : seen) {
    // A round without the operation, as between lazy penalties, counts as 0 s.
    const auto of = [operation = operation](const Round& round) {
      const auto found = round.operations.find(operation);
      return found == round.operations.end() ? 0.0 : found->second;
    };
    times.push_back(
        TimeOf(operation, MedianIntervalOf(Means(repetition_, of))));
  }
  return times;
}

absl::StatusOr<std::vector<OperationTime>> ProbeRun::OperationsOnGpus(
    absl::Duration limit, double round_seconds) {
  // Errors are ignored here, because the next operation reports them.
  const std::function<void()> wait = [this] {
    CatchTorch([this] {
      for (const auto& [gpu, resting] : gpus_) torch::cuda::synchronize(gpu);
      return absl::OkStatus();
    }).IgnoreError();
  };
  const absl::Time end = MonotonicNow() + std::min(limit, kLongestOnGpus);
  {
    const SpanFence fence(&wait);
    GANDEM_RETURN_IF_ERROR(RunUntil([&] {
      return std::ssize(rounds_) >= kGpuRepetitions * repetition_ ||
             MonotonicNow() >= end;
    }));
  }
  std::vector<OperationTime> times = Operations();
  // Without waiting, operations overlap on the GPU.
  ShortenTo(round_seconds, times);
  return times;
}

std::vector<double> ProbeRun::Means(
    int64_t rounds, const std::function<double(const Round&)>& get) const {
  std::vector<double> values;
  values.reserve(rounds_.size());
  for (const Round& round : rounds_) values.push_back(get(round));
  return MeansOfRepetitions(values, rounds);
}

MedianInterval ProbeRun::RoundInterval() const {
  return MedianIntervalOf(
      Means(repetition_, [](const Round& round) { return round.seconds; }));
}

StateSize ProbeRun::StateOf(Role role) const {
  GANDEM_CHECK(Plays(role));
  const auto& played = role == GENERATOR ? roles_.front() : roles_.back();
  const TrainedBytes bytes = played->Size();
  StateSize size;
  size.set_parameter_bytes(bytes.parameters);
  size.set_buffer_bytes(bytes.buffers);
  size.set_optimizer_bytes(bytes.optimizer);
  return size;
}

void ProbeRun::AddPeaks(Probe& probe) const {
  probe.set_resting_bytes(resting_bytes_);
  // The kernel's counters are rounded: a peak may be too low.
  probe.set_peak_bytes(
      std::max<int64_t>(ResidentMemory().peak_bytes, resting_bytes_));
  // Reports the GPU with the largest used share.
  double fullest = -1;
  for (const auto& [index, resting] : gpus_) {
    const at::Device gpu(at::kCUDA, index);
    // Other processes may have freed memory since the start.
    const int64_t peak = std::max(MemoryInUse(gpu).peak_bytes, resting);
    const int64_t total = TotalMemory(gpu);
    const double share = static_cast<double>(peak) / static_cast<double>(total);
    if (share <= fullest) continue;
    fullest = share;
    DeviceMemory& memory = *probe.mutable_device_memory();
    memory.set_peak_bytes(peak);
    memory.set_resting_bytes(resting);
    memory.set_total_bytes(total);
  }
}

}  // namespace gandem
