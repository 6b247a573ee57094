// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/simulation/round_summary.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/config/role_name.h"

namespace gandem {
namespace {

// A role that waits for less than this part of a round computes all the time.
constexpr double kBusy = 0.05;
// A link that sends for more than this part of it is what the others wait for.
constexpr double kFullLink = 0.9;

double Total(const RoleWaits& waits) {
  return std::accumulate(waits.begin(), waits.end(), 0.0);
}

double Share(const SimulatedRounds& rounds, const RoleWaits& waits) {
  if (rounds.round_seconds <= 0) return 0;
  return std::clamp(Total(waits) / rounds.round_seconds, 0.0, 1.0);
}

// What this role waits for most.
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
  // Both wait: for what the one waits that waits less.
  return generator < discriminator
             ? LongestWait(shape, GENERATOR, rounds.generator_waits)
             : LongestWait(shape, DISCRIMINATOR, rounds.discriminator_waits);
}

}  // namespace

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
