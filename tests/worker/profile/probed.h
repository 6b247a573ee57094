// SPDX-License-Identifier: Apache-2.0
//
// Small runs for probes of the real roles.
#pragma once

#include <string>

#include "discriminator_worker/discriminator_role.h"
#include "generator_worker/generator_role.h"
#include "tests/training/runs/pair.h"
#include "training/roles/role_parts.h"

namespace gandem::testing {

inline RunConfig ProbedConfig(const std::string& folder,
                              ScheduleConfig::FeedbackMode feedback) {
  RunConfig config = SmallConfig("mlp", folder);
  config.set_rounds(1'000'000);
  config.mutable_checkpoint()->set_every_rounds(0);
  ScheduleConfig& schedule = *config.mutable_schedule();
  schedule.set_lag(1);
  schedule.set_discriminator_steps_per_round(1);
  schedule.set_image_source(ScheduleConfig::REUSED);
  schedule.set_feedback(feedback);
  config.mutable_generator()->set_batch_size(6);
  config.mutable_discriminator()->set_batch_size(6);
  config.mutable_generator()->set_micro_batch(4);
  return config;
}

inline RoleFactories Factories() {
  return {.generator = MakeGeneratorRole,
          .discriminator = DiscriminatorRoles()};
}

}  // namespace gandem::testing
