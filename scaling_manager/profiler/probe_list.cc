// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/probe_list.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/config/optimizer_validate.h"
#include "common/config/role_device.h"
#include "common/config/role_name.h"
#include "common/config/run_config.h"

namespace gandem {
namespace {

using google::protobuf::util::MessageDifferencer;

constexpr int64_t kProbeRounds = 1'000'000'000;
constexpr double kNextToNoLearning = 1e-9;
// A machine with more cores gets powers of two, and all of them.
constexpr int kFewThreadCounts = 8;

const RoleConfig& RoleConfigOf(const RunConfig& recipe, Role role) {
  return role == GENERATOR ? recipe.generator() : recipe.discriminator();
}

// 1, 2, 4 and so on, and all cores.
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

// Those that AUTO tries on the device (training/compute/choose_compute.h).
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
  settings.set_threads(1);
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
  // What the other role is stays as it is: a generator judges as it does.
  if (is_asked || role.precision() == RoleConfig::AUTO) {
    role.set_precision(settings.precision());
  }
  if (is_asked || role.layout() == AUTO) role.set_layout(settings.layout());
  SetLearningRate(*role.mutable_optimizer());
}

bool IsValidProbe(const RunConfig& recipe, const ProbeSettings& settings) {
  return ValidateRunConfig(ProbeConfig(recipe, settings, recipe.data())).ok();
}

// Collects questions, each once.
class ListOfProbes {
 public:
  explicit ListOfProbes(const RunConfig& recipe) : recipe_(recipe) {}

  void Add(ProbeSettings settings, bool is_needed = false) {
    if (!IsNew(settings)) return;
    list_.push_back(
        {.together = {std::move(settings)}, .is_needed = is_needed});
  }

  // Both, each on its part of the cores.
  void AddBeside(ProbeSettings generator, ProbeSettings discriminator) {
    generator.set_beside_other_role(true);
    discriminator.set_beside_other_role(true);
    if (!IsNew(generator) || !IsNew(discriminator)) return;
    list_.push_back(
        {.together = {std::move(generator), std::move(discriminator)}});
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
constexpr ScheduleConfig::FeedbackMode kFeedbackModes[] = {
    ScheduleConfig::SNAPSHOT, ScheduleConfig::IMAGE_GRADIENT,
    ScheduleConfig::FUSED};

void AddBatches(const RunConfig& recipe, int numerator, int denominator,
                int threads, ListOfProbes& list) {
  for (const Role role : kBothRoles) {
    ProbeSettings settings = BaseSettings(recipe, role);
    settings.set_batch_size(settings.batch_size() * numerator / denominator);
    settings.set_threads(threads);
    list.Add(std::move(settings));
  }
}

// At the same time: contention, at the recipe's batches.
void AddContention(const RunConfig& recipe, int cores, ListOfProbes& list) {
  if (cores < 2) return;
  ProbeSettings generator = BaseSettings(recipe, GENERATOR);
  ProbeSettings discriminator = BaseSettings(recipe, DISCRIMINATOR);
  generator.set_threads(cores / 2);
  discriminator.set_threads(cores / 2);
  list.AddBeside(std::move(generator), std::move(discriminator));
}

// Of the recipe's batches, or of a part of them.
void AddFeedbackModes(const RunConfig& recipe, int denominator, int threads,
                      ListOfProbes& list) {
  for (const auto mode : kFeedbackModes) {
    for (const Role role : kBothRoles) {
      ProbeSettings settings = BaseSettings(recipe, role);
      settings.set_batch_size(settings.batch_size() / denominator);
      settings.set_feedback(mode);
      settings.set_threads(threads);
      list.Add(std::move(settings));
    }
  }
}

void AddKernels(const RunConfig& recipe, int threads, ListOfProbes& list) {
  for (const Role role : kBothRoles) {
    for (const MemoryLayout layout : {NCHW, CHANNELS_LAST}) {
      ProbeSettings settings = BaseSettings(recipe, role);
      settings.set_layout(layout);
      settings.set_threads(threads);
      list.Add(std::move(settings));
    }
    for (const auto precision : PrecisionsOf(RoleConfigOf(recipe, role))) {
      ProbeSettings settings = BaseSettings(recipe, role);
      settings.set_precision(precision);
      settings.set_threads(threads);
      list.Add(std::move(settings));
    }
  }
}

// What it costs to cut a step: passes of half the images, as a plan may have
// them.
void AddMicroBatches(const RunConfig& recipe, int threads, ListOfProbes& list) {
  for (const Role role : kBothRoles) {
    ProbeSettings settings = BaseSettings(recipe, role);
    settings.set_micro_batch(settings.batch_size() / 2);
    settings.set_threads(threads);
    if (settings.micro_batch() > 0) list.Add(std::move(settings));
  }
}

void AddThreads(const RunConfig& recipe, int threads, ListOfProbes& list) {
  for (const Role role : kBothRoles) {
    ProbeSettings settings = BaseSettings(recipe, role);
    settings.set_threads(threads);
    list.Add(std::move(settings));
  }
}

ProbeSettings Colocated(const RunConfig& recipe, int threads) {
  ProbeSettings settings = BaseSettings(recipe, DISCRIMINATOR);
  settings.set_role(COLOCATED);
  settings.set_threads(threads);
  return settings;
}

// One process in each mode: what a pair costs is not the sum of its parts, nor
// the same multiple of it in every mode.
void AddColocatedModes(const RunConfig& recipe, int denominator, int threads,
                       ListOfProbes& list) {
  for (const auto mode : kFeedbackModes) {
    ProbeSettings settings = Colocated(recipe, threads);
    settings.set_batch_size(settings.batch_size() / denominator);
    settings.set_feedback(mode);
    list.Add(std::move(settings));
  }
}

}  // namespace

std::vector<ProbeQuestion> ProbeList(const RunConfig& recipe,
                                     int machine_cores) {
  // What a GPU does takes no other time with more threads, nor beside another
  // GPU.
  const bool are_on_gpus =
      IsOnGpu(recipe.generator()) && IsOnGpu(recipe.discriminator());
  const int cores = are_on_gpus ? 1 : machine_cores;
  ListOfProbes list(recipe);
  for (const Role role : kBothRoles) {
    list.Add(BaseSettings(recipe, role), /*is_needed=*/true);
  }
  AddBatches(recipe, 1, 2, 1, list);
  list.Add(Colocated(recipe, cores));
  AddContention(recipe, cores, list);
  AddFeedbackModes(recipe, 1, 1, list);
  // A process of both networks has all cores: what it may do there is compared
  // with what two of fewer may.
  AddThreads(recipe, cores, list);
  AddFeedbackModes(recipe, 1, cores, list);
  AddColocatedModes(recipe, 1, cores, list);
  // Larger batches, the slices of fleets, and the shape of all that has one
  // size.
  AddBatches(recipe, 2, 1, 1, list);
  AddBatches(recipe, 1, 4, 1, list);
  // How a mode's times and memory grow with the images.
  AddFeedbackModes(recipe, 2, 1, list);
  AddColocatedModes(recipe, 2, cores, list);
  AddMicroBatches(recipe, cores, list);
  AddMicroBatches(recipe, 1, list);
  AddThreads(recipe, std::max(1, cores / 2), list);
  {
    ProbeSettings fresh = BaseSettings(recipe, GENERATOR);
    fresh.set_image_source(ScheduleConfig::FRESH);
    if (fresh.feedback() == ScheduleConfig::FUSED) {
      fresh.set_feedback(ScheduleConfig::IMAGE_GRADIENT);
    }
    list.Add(std::move(fresh));
  }
  AddBatches(recipe, 1, 2, cores, list);
  AddKernels(recipe, 1, list);
  AddKernels(recipe, cores, list);
  for (const int threads : ThreadCounts(cores)) {
    AddThreads(recipe, threads, list);
    AddColocatedModes(recipe, 1, threads, list);
  }
  for (const int factor : {2, 4, 8, 16}) {
    AddBatches(recipe, factor, 1, cores, list);
  }
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
  // Another mode's way of going backward is none of this one.
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

}  // namespace gandem
