// SPDX-License-Identifier: Apache-2.0
#include "control_plane/views/role_limit.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace gandem {
namespace {

double WaitShare(const RoundTimes& times) {
  if (times.round <= 0) return 0;
  return std::clamp((times.images + times.feedback + times.cache) / times.round,
                    0.0, 1.0);
}

}  // namespace

RoleLoad LoadOf(int workers, double rounds, const RoundTimes& times) {
  if (rounds <= 0) return {};
  return {.workers = workers,
          .round_seconds = times.round / rounds,
          .own_seconds = (1 - WaitShare(times)) * times.round / rounds,
          .sync_seconds = times.sync / rounds};
}

std::string LimitText(const RoleLoad& generator,
                      const RoleLoad& discriminator) {
  if (generator.own_seconds <= 0 || discriminator.own_seconds <= 0) return "";
  const double g = generator.own_seconds / generator.round_seconds;
  const double d = discriminator.own_seconds / discriminator.round_seconds;
  if (g >= 1 && d >= 1) return "";
  const bool is_generator = g >= d;
  const RoleLoad& limit = is_generator ? generator : discriminator;
  const RoleLoad& other = is_generator ? discriminator : generator;
  const char* const name = is_generator ? "generator" : "discriminator";
  const double round = std::max(limit.round_seconds, other.round_seconds);
  const double divided = std::max(0.0, limit.own_seconds - limit.sync_seconds);
  const double taken_over = divided / (limit.workers + 1);
  const double faster = std::max(round - taken_over, other.own_seconds);
  return absl::StrFormat(
      "the %s limits the run: it works %.1f%% of the time and the %s %.1f%%; "
      "%s %s worker with cores of its own would give up to %.2f times the "
      "images/s",
      name, 100 * std::max(g, d), is_generator ? "discriminator" : "generator",
      100 * std::min(g, d), limit.workers == 1 ? "a second" : "another", name,
      round / faster);
}

}  // namespace gandem
