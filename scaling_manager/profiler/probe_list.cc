// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/probe_list.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/config/optimizer_validate.h"
#include "common/config/role_device.h"
#include "common/config/role_name.h"
#include "common/config/run_config.h"
#include "scaling_manager/planner/model/profile_probes.h"

namespace gandem {
namespace {

using google::protobuf::util::MessageDifferencer;

constexpr int64_t kProbeRounds = 1'000'000'000;
constexpr double kNextToNoLearning = 1e-9;
// Largest number of thread counts that are all measured.
constexpr int kFewThreadCounts = 8;

const RoleConfig& RoleConfigOf(const RunConfig& recipe, Role role) {
  return role == GENERATOR ? recipe.generator() : recipe.discriminator();
}

// Returns powers of two up to the number of cores, and all cores.
std::vector<int> ThreadCounts(int cores) {
  std::vector<int> counts;
  for (int threads = 1; threads < cores; threads *= 2) {
    counts.push_back(threads);
  }
  if (std::ssize(counts) > kFewThreadCounts) {
    counts = {counts.front(), counts[counts.size() / 2], counts.back()};
  }
  counts.push_back(cores);
  return counts;
}

RoleConfig::Precision BasePrecision(const RoleConfig& role) {
  return role.precision() == RoleConfig::AUTO ? RoleConfig::FLOAT32
                                              : role.precision();
}

MemoryLayout BaseLayout(const RoleConfig& role) {
  return role.layout() == AUTO ? NCHW : role.layout();
}

// Returns the precisions that AUTO tries on the device
// (training/compute/choose_compute.h).
std::vector<RoleConfig::Precision> PrecisionsOf(const RoleConfig& role) {
  if (role.precision() == RoleConfig::FLOAT64) return {};
  if (IsOnGpu(role)) {
    return {RoleConfig::TF32, RoleConfig::BFLOAT16, RoleConfig::FLOAT16};
  }
  return {RoleConfig::BFLOAT16};
}

ProbeSettings BaseSettings(const RunConfig& recipe, Role role) {
  const RoleConfig& of_role = RoleConfigOf(recipe, role);
  ProbeSettings settings;
  settings.set_role(role);
  settings.set_batch_size(std::max<int64_t>(
      1, of_role.batch_size() / std::max(1, of_role.workers())));
  settings.set_micro_batch(of_role.micro_batch());
  settings.set_precision(BasePrecision(of_role));
  settings.set_layout(BaseLayout(of_role));
  settings.set_feedback(recipe.schedule().feedback());
  settings.set_image_source(ScheduleConfig::REUSED);
  settings.set_beside_other_role(false);
  return settings;
}

void SetLearningRate(OptimizerConfig& optimizer) {
  optimizer.clear_rate_schedule();
  optimizer.clear_batch_scaling();
  const auto* const reflection = optimizer.GetReflection();
  const auto* const family = FamilyFieldOf(optimizer);
  if (family == nullptr) {
    optimizer.mutable_adam()->set_learning_rate(kNextToNoLearning);
    return;
  }
  google::protobuf::Message* const options =
      reflection->MutableMessage(&optimizer, family);
  const auto* const rate =
      options->GetDescriptor()->FindFieldByName("learning_rate");
  if (rate != nullptr) {
    options->GetReflection()->SetDouble(options, rate, kNextToNoLearning);
  }
}

void SetRole(const ProbeSettings& settings, bool is_asked, RoleConfig& role) {
  role.set_batch_size(settings.batch_size());
  role.set_workers(1);
  role.clear_sync();
  role.set_micro_batch(settings.micro_batch());
  role.set_threads(settings.threads());
  // Keep the other role's settings: a generator runs the critic with them.
  if (is_asked || role.precision() == RoleConfig::AUTO) {
    role.set_precision(settings.precision());
  }
  if (is_asked || role.layout() == AUTO) role.set_layout(settings.layout());
  SetLearningRate(*role.mutable_optimizer());
}

bool IsValidProbe(const RunConfig& recipe, const ProbeSettings& settings) {
  return ValidateRunConfig(ProbeConfig(recipe, settings, recipe.data())).ok();
}

// Collects questions, each at most once.
class ListOfProbes {
 public:
  explicit ListOfProbes(const RunConfig& recipe) : recipe_(recipe) {}

  void Add(ProbeSettings settings, bool is_needed = false) {
    if (!IsNew(settings)) return;
    list_.push_back(
        {.together = {std::move(settings)}, .is_needed = is_needed});
  }

  // Adds a question that runs both workers at once, on their own cores.
  void AddBeside(ProbeSettings generator, ProbeSettings discriminator) {
    generator.set_beside_other_role(true);
    discriminator.set_beside_other_role(true);
    if (!IsNew(generator) || !IsNew(discriminator)) return;
    list_.push_back(
        {.together = {std::move(generator), std::move(discriminator)}});
  }

  // Returns settings of a worker with `threads` threads and the fraction `part`
  // of the recipe's batch. A colocated worker has the discriminator's settings.
  ProbeSettings Base(Role role, double part, int threads) const {
    ProbeSettings settings = BaseSettings(recipe_, role);
    settings.set_batch_size(static_cast<int64_t>(
        static_cast<double>(settings.batch_size()) * part));
    settings.set_threads(threads);
    return settings;
  }

  std::vector<ProbeQuestion> Take() { return std::move(list_); }

 private:
  bool IsNew(const ProbeSettings& settings) const {
    if (settings.batch_size() < 1 || !IsValidProbe(recipe_, settings)) {
      return false;
    }
    return std::ranges::none_of(list_, [&](const ProbeQuestion& question) {
      return std::ranges::any_of(
          question.together, [&](const ProbeSettings& asked) {
            return MessageDifferencer::Equals(asked, settings);
          });
    });
  }

  const RunConfig& recipe_;
  std::vector<ProbeQuestion> list_;
};

constexpr Role kBothRoles[] = {GENERATOR, DISCRIMINATOR};
constexpr Role kColocated[] = {COLOCATED};
constexpr ScheduleConfig::FeedbackMode kFeedbackModes[] = {
    ScheduleConfig::SNAPSHOT, ScheduleConfig::IMAGE_GRADIENT,
    ScheduleConfig::FUSED};

void AddBatches(double part, int threads, ListOfProbes& list) {
  for (const Role role : kBothRoles) {
    list.Add(list.Base(role, part, threads));
  }
}

// Adds each feedback mode, because the cost of a pair is neither the sum of its
// parts nor the same multiple of that sum in every mode.
void AddModes(std::span<const Role> roles, double part, int threads,
              ListOfProbes& list) {
  for (const auto mode : kFeedbackModes) {
    for (const Role role : roles) {
      ProbeSettings settings = list.Base(role, part, threads);
      settings.set_feedback(mode);
      list.Add(std::move(settings));
    }
  }
}

// Runs both roles at once, on their own cores, to measure contention.
void AddContention(int cores, ListOfProbes& list) {
  if (cores < 2) return;
  list.AddBeside(list.Base(GENERATOR, 1, cores / 2),
                 list.Base(DISCRIMINATOR, 1, cores / 2));
}

void AddKernels(const RunConfig& recipe, int threads, ListOfProbes& list) {
  for (const Role role : kBothRoles) {
    for (const MemoryLayout layout : {NCHW, CHANNELS_LAST}) {
      ProbeSettings settings = list.Base(role, 1, threads);
      settings.set_layout(layout);
      list.Add(std::move(settings));
    }
    for (const auto precision : PrecisionsOf(RoleConfigOf(recipe, role))) {
      ProbeSettings settings = list.Base(role, 1, threads);
      settings.set_precision(precision);
      list.Add(std::move(settings));
    }
  }
}

// Measures the cost of micro-batches: passes of half the images.
void AddMicroBatches(int threads, ListOfProbes& list) {
  for (const Role role : kBothRoles) {
    ProbeSettings settings = list.Base(role, 1, threads);
    settings.set_micro_batch(settings.batch_size() / 2);
    if (settings.micro_batch() > 0) list.Add(std::move(settings));
  }
}

// Adds images that are made for the discriminator alone.
void AddFresh(ListOfProbes& list) {
  ProbeSettings fresh = list.Base(GENERATOR, 1, 1);
  fresh.set_image_source(ScheduleConfig::FRESH);
  if (fresh.feedback() == ScheduleConfig::FUSED) {
    fresh.set_feedback(ScheduleConfig::IMAGE_GRADIENT);
  }
  list.Add(std::move(fresh));
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

std::vector<ProbeQuestion> ProbeList(const RunConfig& recipe,
                                     int machine_cores) {
  // On GPUs, CPU threads and work on another GPU do not change the times.
  const bool are_on_gpus =
      IsOnGpu(recipe.generator()) && IsOnGpu(recipe.discriminator());
  const int cores = are_on_gpus ? 1 : machine_cores;
  ListOfProbes list(recipe);
  for (const Role role : kBothRoles) {
    list.Add(list.Base(role, 1, 1), /*is_needed=*/true);
  }
  AddBatches(0.5, 1, list);
  list.Add(list.Base(COLOCATED, 1, cores));
  AddContention(cores, list);
  AddModes(kBothRoles, 1, 1, list);
  // Candidates with two processes are compared with a process on all cores.
  AddBatches(1, cores, list);
  AddModes(kBothRoles, 1, cores, list);
  AddModes(kColocated, 1, cores, list);
  // Larger batches and slices of fleets, also for batches in no other question.
  AddBatches(2, 1, list);
  AddBatches(0.25, 1, list);
  // Measure how the times and the memory of a mode grow with the batch.
  AddModes(kBothRoles, 0.5, 1, list);
  AddModes(kColocated, 0.5, cores, list);
  AddMicroBatches(cores, list);
  AddMicroBatches(1, list);
  AddBatches(1, std::max(1, cores / 2), list);
  AddFresh(list);
  AddBatches(0.5, cores, list);
  AddKernels(recipe, 1, list);
  AddKernels(recipe, cores, list);
  for (const int threads : ThreadCounts(cores)) {
    AddBatches(1, threads, list);
    AddModes(kColocated, 1, threads, list);
  }
  for (const int factor : {2, 4, 8, 16}) AddBatches(factor, cores, list);
  return list.Take();
}

RunConfig ProbeConfig(const RunConfig& recipe, const ProbeSettings& settings,
                      const DataConfig& data) {
  RunConfig config = recipe;
  config.set_name("profile");
  config.set_rounds(kProbeRounds);
  *config.mutable_data() = data;
  config.clear_checkpoint();
  config.mutable_checkpoint()->set_every_rounds(0);
  config.clear_samples();
  config.mutable_samples()->set_every_rounds(0);
  config.mutable_ema()->clear_start_round();
  ScheduleConfig& schedule = *config.mutable_schedule();
  schedule.set_lag(1);
  schedule.set_discriminator_steps_per_round(1);
  schedule.set_consistency(ScheduleConfig::EXACT);
  schedule.clear_max_samples_per_image();
  schedule.set_image_source(settings.image_source());
  // fused_backward belongs to FUSED feedback only.
  if (schedule.feedback() != settings.feedback()) {
    schedule.clear_fused_backward();
  }
  schedule.set_feedback(settings.feedback());
  ExchangeConfig& exchange = *config.mutable_exchange();
  exchange.clear_cache_rounds();
  exchange.set_cache_bytes(int64_t{1} << 40);
  exchange.set_max_message_bytes((int64_t{1} << 31) - 1);
  const Role role = settings.role();
  SetRole(settings, role == GENERATOR, *config.mutable_generator());
  SetRole(settings, role == DISCRIMINATOR, *config.mutable_discriminator());
  return config;
}

std::string ToString(const ProbeSettings& settings) {
  return absl::StrCat(
      RoleName(settings.role()), ", batch ", settings.batch_size(),
      settings.micro_batch() > 0 ? absl::StrCat(" by ", settings.micro_batch())
                                 : "",
      ", ", settings.threads(),
      settings.threads() == 1 ? " thread" : " threads", ", ",
      RoleConfig::Precision_Name(settings.precision()), ", ",
      MemoryLayout_Name(settings.layout()), ", ",
      ScheduleConfig::FeedbackMode_Name(settings.feedback()),
      settings.image_source() == ScheduleConfig::FRESH ? ", FRESH" : "",
      settings.beside_other_role() ? ", beside the other role" : "");
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
