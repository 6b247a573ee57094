// SPDX-License-Identifier: Apache-2.0
#include "common/control/link_damage.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gandem {
namespace {

// Whatever workers tell, the sum stays a number.
constexpr int64_t kMostDamage = int64_t{1} << 60;

std::string Arrow(std::string own, std::string other, bool is_outgoing) {
  if (!is_outgoing) std::swap(own, other);
  return absl::StrCat(own, " -> ", other);
}

}  // namespace

std::string LinkName(const LinkDamage& damage, WorkerKey worker,
                     RankAt rank_at) {
  if (damage.link() == LinkDamage::CONTROL) {
    return absl::StrCat(
        "control ", Arrow(ToString(worker), "gandem", damage.is_outgoing()));
  }
  if (worker.role != GENERATOR && worker.role != DISCRIMINATOR) return "";
  const Role other = worker.role == GENERATOR ? DISCRIMINATOR : GENERATOR;
  const Role role = damage.link() == LinkDamage::FLEET ? worker.role : other;
  const std::optional<int> rank =
      damage.peer() < 0 ? std::nullopt : rank_at(role, damage.peer());
  if (!rank.has_value() || WorkerKey{role, *rank} == worker) return "";
  switch (damage.link()) {
    case LinkDamage::EXCHANGE:
      return absl::StrCat(
          "exchange ", Arrow(ToString(worker), ToString(WorkerKey{role, *rank}),
                             damage.is_outgoing()));
    case LinkDamage::FLEET:
      return absl::StrCat("ring of the ",
                          role == GENERATOR ? "generators " : "discriminators ",
                          Arrow(absl::StrCat(worker.rank), absl::StrCat(*rank),
                                damage.is_outgoing()));
    default:
      return "";
  }
}

std::vector<std::string> LinkDamageTotals::Note(WorkerKey worker,
                                                int64_t incarnation,
                                                const HeartbeatRequest& request,
                                                RankAt rank_at) {
  std::vector<std::string> news;
  if (request.damage().empty()) return news;
  Told& told = told_[worker];
  if (told.incarnation != incarnation) told = {.incarnation = incarnation};
  for (const LinkDamage& damage : request.damage()) {
    const std::string name = LinkName(damage, worker, rank_at);
    if (name.empty()) continue;
    int64_t& before = told.messages[name];
    const int64_t more = damage.messages() - before;
    if (more <= 0) continue;  // a heartbeat that was overtaken
    before = damage.messages();
    int64_t& total = totals_[name];
    const int64_t sum =
        std::min(kMostDamage, total + std::min(kMostDamage, more));
    if (std::bit_width(static_cast<uint64_t>(sum)) >
        std::bit_width(static_cast<uint64_t>(total))) {
      news.push_back(
          absl::StrCat(name, ": ", sum, " messages arrived damaged"));
    }
    total = sum;
  }
  return news;
}

}  // namespace gandem
