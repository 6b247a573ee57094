// SPDX-License-Identifier: Apache-2.0
#include "control_plane/views/role_overlap.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace gandem {
namespace {

constexpr double kNearZero = 0.05;
// Smallest share of its time that a role must work to be worth overlapping.
constexpr double kLeastWork = 0.05;

double WaitShare(const RoundTimes& times) {
  if (times.round <= 0) return 0;
  return std::clamp((times.images + times.feedback + times.cache) / times.round,
                    0.0, 1.0);
}

std::string WaitText(const char* role, const RoundTimes& times) {
  const char* const what = times.feedback >= std::max(times.images, times.cache)
                               ? "feedback"
                           : times.images >= times.cache ? "images"
                                                         : "room in the cache";
  return absl::StrFormat("the %s waits %.0f%% of its time, mostly for %s", role,
                         100 * WaitShare(times), what);
}

}  // namespace

double RoleOverlap(const RoundTimes& generator,
                   const RoundTimes& discriminator) {
  const double g = 1 - WaitShare(generator);
  const double d = 1 - WaitShare(discriminator);
  const double least = std::min(g, d);
  if (least < kLeastWork) return 1;
  return std::clamp((g + d - 1) / least, 0.0, 1.0);
}

std::string SerialWarning(int64_t lag, const RoundTimes& generator,
                          const RoundTimes& discriminator) {
  if (lag == 0 || generator.round <= 0 || discriminator.round <= 0) return "";
  const double overlap = RoleOverlap(generator, discriminator);
  if (overlap >= kNearZero) return "";
  const std::string g = WaitText("generator", generator);
  const std::string d = WaitText("discriminator", discriminator);
  const bool generator_first = WaitShare(generator) >= WaitShare(discriminator);
  return absl::StrCat(
      "the run has lag ", lag, " but is serial in fact (overlap ",
      absl::StrFormat("%.0f%%", 100 * overlap), "): ", generator_first ? g : d,
      ", ", generator_first ? d : g,
      ". `gandem plan` finds a shape in which they work at the same time, or "
      "says that there is none");
}

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
