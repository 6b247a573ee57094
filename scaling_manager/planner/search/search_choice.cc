// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/search/search_choice.h"

#include "absl/strings/str_cat.h"
#include "common/config/role_device.h"
#include "scaling_manager/planner/quality/optimizer_rules.h"

namespace gandem {
namespace {

// Returns the rounds for as many images with batches 2^`doublings` as large.
int64_t ScaledRounds(int64_t rounds, int doublings) {
  if (doublings <= 0) return rounds << -doublings;
  return (rounds + (int64_t{1} << doublings) - 1) >> doublings;
}

void ScaleBatch(int doublings, RoleConfig& role) {
  role.set_batch_size(ScaledBatch(role.batch_size(), doublings));
  if (role.optimizer().adam().beta2_steps() > 0) {
    AdamConfig& adam = *role.mutable_optimizer()->mutable_adam();
    adam.set_beta2_steps(ScaledRounds(adam.beta2_steps(), doublings));
  }
  if (!role.optimizer().has_rate_schedule()) return;
  RateScheduleConfig& schedule =
      *role.mutable_optimizer()->mutable_rate_schedule();
  schedule.set_warmup_rounds(ScaledRounds(schedule.warmup_rounds(), doublings));
  schedule.set_decay_from_round(
      ScaledRounds(schedule.decay_from_round(), doublings));
  schedule.set_decay_until_round(
      ScaledRounds(schedule.decay_until_round(), doublings));
}

void SetRole(const RoleChoice& choice, int64_t average_every,
             RoleConfig& role) {
  role.set_workers(choice.workers);
  role.set_threads(choice.threads);
  role.set_micro_batch(choice.micro_batch);
  role.set_precision(choice.precision);
  role.set_layout(choice.layout);
  if (average_every > 0 && choice.workers > 1) {
    role.mutable_sync()->set_mode(SyncConfig::AVERAGE_STATE);
    role.mutable_sync()->set_interval(average_every);
  }
}

RoleChoice RoleAsItIs(const RoleConfig& role) {
  return {.workers = role.workers(),
          .threads = role.threads(),
          .micro_batch = role.micro_batch(),
          .precision = role.precision(),
          .layout = role.layout()};
}

}  // namespace

SearchChoice ChoiceAsItIs(const RunConfig& config, bool colocated) {
  return {.colocated = colocated,
          .generator = RoleAsItIs(config.generator()),
          .discriminator = RoleAsItIs(config.discriminator()),
          .feedback = config.schedule().feedback(),
          .lag = config.schedule().lag()};
}

int64_t ScaledBatch(int64_t batch, int doublings) {
  return doublings >= 0 ? batch << doublings : batch >> -doublings;
}

RunConfig ConfigOf(const RunConfig& recipe, const SearchChoice& choice) {
  RunConfig config = recipe;
  RememberBatches(config);
  ScheduleConfig& schedule = *config.mutable_schedule();
  if (schedule.lag() != choice.lag)
    config.mutable_exchange()->clear_cache_rounds();
  schedule.set_lag(choice.lag);
  schedule.set_feedback(choice.feedback);
  if (choice.feedback != recipe.schedule().feedback()) {
    schedule.set_fused_backward(ScheduleConfig::AUTO);
  }
  // BOUNDED has no benefit within a single process.
  if (choice.colocated) {
    schedule.set_consistency(ScheduleConfig::EXACT);
    schedule.clear_max_samples_per_image();
  }
  SetRole(choice.generator, choice.average_every, *config.mutable_generator());
  SetRole(choice.discriminator, choice.average_every,
          *config.mutable_discriminator());
  for (RoleConfig* role :
       {config.mutable_generator(), config.mutable_discriminator()}) {
    if (choice.batch_doublings != 0) ScaleBatch(choice.batch_doublings, *role);
    // Each worker takes its own GPU.
    if (!choice.colocated && IsOnGpu(*role)) {
      role->set_device("cuda");
    }
  }
  if (choice.batch_doublings != 0) {
    config.set_rounds(ScaledRounds(config.rounds(), choice.batch_doublings));
    PenaltyConfig& penalties = *config.mutable_penalties();
    penalties.set_gradient_decay_steps(
        ScaledRounds(penalties.gradient_decay_steps(), choice.batch_doublings));
    EmaConfig& ema = *config.mutable_ema();
    ema.set_start_round(
        ScaledRounds(ema.start_round(), choice.batch_doublings));
  }
  return config;
}

namespace {

std::string OfRoles(const std::string& generator,
                    const std::string& discriminator) {
  return generator == discriminator
             ? generator
             : absl::StrCat(generator, " + ", discriminator);
}

std::string ComputeName(const RoleChoice& role) {
  return absl::StrCat(RoleConfig::Precision_Name(role.precision),
                      role.layout == NCHW
                          ? ""
                          : absl::StrCat(" ", MemoryLayout_Name(role.layout)));
}

}  // namespace

std::string NameOf(const RunConfig& recipe, const SearchChoice& choice,
                   const SearchChoice& base) {
  const RoleChoice& g = choice.generator;
  const RoleChoice& d = choice.discriminator;
  const std::string threads =
      absl::StrCat(OfRoles(absl::StrCat(g.threads), absl::StrCat(d.threads)),
                   g.threads == 1 && d.threads == 1 ? " thread" : " threads");
  std::string name =
      choice.colocated
          ? absl::StrCat("colocated, ", threads)
          : absl::StrCat(g.workers, " G + ", d.workers, " D, ", threads);
  // SNAPSHOT and IMAGE_GRADIENT give a colocated process the same result.
  absl::StrAppend(&name, ", ",
                  ScheduleConfig::FeedbackMode_Name(choice.feedback), ", lag ",
                  choice.lag);
  if (choice.batch_doublings != 0) {
    absl::StrAppend(
        &name, ", batch ",
        OfRoles(absl::StrCat(ScaledBatch(recipe.generator().batch_size(),
                                         choice.batch_doublings)),
                absl::StrCat(ScaledBatch(recipe.discriminator().batch_size(),
                                         choice.batch_doublings))));
  }
  if (g.micro_batch != base.generator.micro_batch ||
      d.micro_batch != base.discriminator.micro_batch) {
    const auto text = [](int64_t n) {
      return n == 0 ? std::string("whole") : absl::StrCat(n);
    };
    absl::StrAppend(&name, ", micro-batch ",
                    OfRoles(text(g.micro_batch), text(d.micro_batch)));
  }
  const std::string compute = OfRoles(ComputeName(g), ComputeName(d));
  if (compute !=
      OfRoles(ComputeName(base.generator), ComputeName(base.discriminator))) {
    absl::StrAppend(&name, ", ", compute);
  }
  if (choice.average_every > 0) {
    absl::StrAppend(&name, ", averages every ", choice.average_every);
  }
  if (choice.spread == WorkerSpread::kGeneratorsFirst)
    name += ", G on fast hosts";
  if (choice.spread == WorkerSpread::kMixed) name += ", G and D on each host";
  return name;
}

}  // namespace gandem
