// SPDX-License-Identifier: Apache-2.0
//
// Models of a run with answers that can be computed by hand, and requests for
// them. Seconds are per image and thread; threads and speeds divide them.
//
// Owner: a test. Thread safety: values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "scaling_manager/planner/search/search.h"

namespace gandem::testing {

struct FakeNumbers {
  double generator = 1e-3;      // generates an image and its backward pass
  double discriminator = 1e-3;  // trains on a real and a generated image
  double judge = 0.5e-3;        // not in FUSED
  double image_bytes = 0;       // both ways, over the link
  // Memory of a worker: a fixed part, and a part per image of a pass.
  int64_t fixed_bytes = 100 << 20;
  int64_t pass_bytes = 1 << 20;
  double images_per_lag = 0.05;  // additional images per lag
  double batch_knee = 1e9;       // batch that needs twice the images
};

inline double SlowestThread(const Machines& machines,
                            const Placement& placement, Role role) {
  double slowest = 1e9;
  for (const PlacedWorker& worker : placement.workers()) {
    if (worker.role() != role && worker.role() != COLOCATED) continue;
    for (const Host& host : machines.hosts()) {
      if (host.name() != worker.host()) continue;
      slowest = std::min(slowest, host.speed() * worker.threads());
    }
  }
  return slowest;
}

inline int64_t RankImages(const RoleConfig& role) {
  return (role.batch_size() + role.workers() - 1) / role.workers();
}

// Returns the images in one pass of a discriminator. A generator has no such
// limit, because it keeps the images of all parts of its step.
inline int64_t PassImages(const RoleConfig& discriminator) {
  const int64_t rank = RankImages(discriminator);
  const int64_t micro_batch = discriminator.micro_batch();
  return micro_batch == 0 ? rank : std::min(micro_batch, rank);
}

// Predicts a run. Tests that need another answer change the result.
inline Prediction FakePrediction(const FakeNumbers& numbers,
                                 const Machines& machines,
                                 const RunConfig& config,
                                 const Placement& placement) {
  const RoleConfig& g = config.generator();
  const RoleConfig& d = config.discriminator();
  const auto images = static_cast<double>(d.batch_size());
  const auto feedback = config.schedule().feedback();
  const bool colocated = placement.workers(0).role() == COLOCATED;
  const double judging =
      feedback == ScheduleConfig::FUSED ? 0 : numbers.judge * images;
  double g_work = numbers.generator * images;
  double d_work = numbers.discriminator * images;
  (feedback == ScheduleConfig::SNAPSHOT ? g_work : d_work) += judging;
  g_work /= g.workers() * SlowestThread(machines, placement, GENERATOR);
  d_work /= d.workers() * SlowestThread(machines, placement, DISCRIMINATOR);
  const bool has_link = machines.has_link() && !colocated;
  const double link = has_link ? numbers.image_bytes * images /
                                         machines.link().bytes_per_second() +
                                     2 * machines.link().latency_seconds()
                               : 0;
  const double lag =
      colocated ? 0 : static_cast<double>(config.schedule().lag());
  // docs/design.md section 4.
  const double round =
      colocated
          ? g_work + d_work
          : std::max({g_work, d_work, (g_work + d_work + link) / (1 + lag)});
  Prediction prediction;
  prediction.set_round_seconds(round);
  prediction.set_images_per_second(images / round);
  prediction.set_generator_wait(colocated ? 0 : 1 - g_work / round);
  prediction.set_discriminator_wait(colocated ? 0 : 1 - d_work / round);
  prediction.set_generator_bytes(numbers.fixed_bytes +
                                 numbers.pass_bytes * RankImages(g));
  prediction.set_discriminator_bytes(numbers.fixed_bytes +
                                     numbers.pass_bytes * PassImages(d));
  prediction.set_bottleneck(round > std::max(g_work, d_work) * 1.001 ? "link"
                            : d_work >= g_work ? "discriminator computing"
                                               : "generator computing");
  return prediction;
}

inline ImagesNeeded FakeImagesNeeded(const FakeNumbers& numbers,
                                     const RunConfig& config) {
  const double lag = static_cast<double>(config.schedule().lag());
  const double batch = static_cast<double>(config.discriminator().batch_size());
  const double factor =
      (1 + numbers.images_per_lag * lag) * (1 + batch / numbers.batch_knee);
  return {
      .factor = factor, .low = 0.95 * factor, .high = 1.1 * factor, .why = ""};
}

inline PlanModels FakeModels(const FakeNumbers& numbers) {
  const auto predict =
      [numbers](const ProfileCosts&, const Machines& machines,
                const RunConfig& config,
                const Placement& placement) -> absl::StatusOr<Prediction> {
    return FakePrediction(numbers, machines, config, placement);
  };
  return {.predict = predict,
          .predict_roughly = predict,
          .images_needed =
              [numbers](const RunConfig& config) {
                return FakeImagesNeeded(numbers, config);
              },
          .choose_optimizers =
              [](RunConfig&) { return std::vector<std::string>(); }};
}

inline RunConfig FakeRecipe(int64_t batch = 64) {
  RunConfig recipe;
  recipe.set_rounds(1000);
  recipe.set_name("planned");
  for (RoleConfig* role :
       {recipe.mutable_generator(), recipe.mutable_discriminator()}) {
    role->mutable_network()->mutable_mlp()->add_hidden(8);
    role->set_batch_size(batch);
  }
  return recipe;
}

inline Machines FakeMachines(int cores, int hosts = 1) {
  Machines machines;
  for (int i = 0; i < hosts; ++i) {
    Host& host = *machines.add_hosts();
    host.set_name("host" + std::to_string(i));
    host.set_cores(cores);
    host.set_device("cpu");
    host.set_speed(1);
  }
  if (hosts > 1) machines.mutable_link()->set_bytes_per_second(1e9);
  return machines;
}

// Returns a profile of both roles with each number of threads.
inline Profile FakeProfile(const std::vector<int>& threads) {
  Profile profile;
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    for (const int count : threads) {
      Probe& probe = *profile.add_probes();
      probe.set_outcome(Probe::MEASURED);
      probe.mutable_settings()->set_role(role);
      probe.mutable_settings()->set_threads(count);
      probe.mutable_settings()->set_batch_size(64);
    }
  }
  return profile;
}

inline PlanRequest FakeRequest(
    const Machines& machines, Plan::Objective objective = Plan::TIME_TO_QUALITY,
    const SearchLimits& limits = {}, const RunConfig& recipe = FakeRecipe(),
    const Profile& profile = FakeProfile({1})) {
  return {.recipe = recipe,
          .profile = profile,
          .machines = machines,
          .objective = objective,
          .limits = limits};
}

}  // namespace gandem::testing
