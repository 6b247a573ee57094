// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/model/link_times.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/process/ring_limits.h"
#include "common/status.h"

namespace gandem {
namespace {

std::optional<LinkLine> Measured(const Profile& profile,
                                 TransferProfile::Kind kind) {
  for (const TransferProfile& transfer : profile.transfers()) {
    if (transfer.kind() != kind) continue;
    return LinkLine{
        .latency = transfer.latency_seconds(),
        .bytes_per_second = transfer.bytes_per_second(),
        .compute_seconds_per_byte = transfer.compute_seconds_per_byte()};
  }
  return std::nullopt;
}

absl::StatusOr<LinkLine> Local(const Profile& profile,
                               TransferProfile::Kind kind, bool is_used) {
  if (const auto line = Measured(profile, kind)) return *line;
  if (!is_used) return LinkLine{};
  return absl::InvalidArgumentError(absl::StrCat(
      "the profile has no transfer of kind ", TransferProfile::Kind_Name(kind),
      ", which this plan uses; `gandem profile` measures it"));
}

// Returns the line of a network. A `link` of the machines replaces the measured
// line; the two ends limit its speed to the measured speed or that of `local`.
absl::StatusOr<LinkLine> Remote(const Profile& profile, const Link& link,
                                TransferProfile::Kind kind,
                                const LinkLine& local, bool is_used) {
  const std::optional<LinkLine> measured = Measured(profile, kind);
  if (link.bytes_per_second() > 0) {
    const LinkLine& ends = measured.has_value() ? *measured : local;
    return LinkLine{.latency = local.latency + link.latency_seconds(),
                    .bytes_per_second = std::min(link.bytes_per_second(),
                                                 ends.bytes_per_second),
                    .compute_seconds_per_byte = ends.compute_seconds_per_byte};
  }
  if (measured.has_value()) return *measured;
  if (!is_used) return LinkLine{};
  return absl::InvalidArgumentError(absl::StrCat(
      "machines.link.bytes_per_second is not set and the profile has no "
      "transfer of kind ",
      TransferProfile::Kind_Name(kind),
      ": give the speed of the link between the hosts (`gandem plan --link "
      "25Gbit`, also if the plan is to be simulated)"));
}

int Most(const std::vector<int>& ranks_by_host) {
  return ranks_by_host.empty() ? 0 : std::ranges::max(ranks_by_host);
}

}  // namespace

double RingSeconds(const LinkLine& pair, int64_t bytes, int ranks) {
  if (ranks <= 1 || bytes == 0) return 0;
  const double others = ranks - 1;
  const double hops = std::ceil(std::log2(ranks));
  if ((ranks - 1) * bytes <= kSmallSumBytes) {
    return (ranks > kFewRanks ? hops : 1) * pair.latency +
           others * pair.Occupied(bytes);
  }
  if (ranks > kFewRanks && bytes <= kShortSegmentBytes * ranks) {
    return hops * pair.latency +
           (hops / 2 + others / ranks) * pair.Occupied(bytes);
  }
  return others * pair.latency + 2 * others / ranks * pair.Occupied(bytes);
}

double LinkTimes::AllReduceSeconds(int64_t bytes,
                                   const std::vector<int>& ranks_by_host,
                                   double crowding) const {
  const int hosts = static_cast<int>(ranks_by_host.size());
  const int local = Most(ranks_by_host);
  const double within = crowding * RingSeconds(sum_memory, bytes, local);
  if (hosts <= 1) return within;
  const double back = local > 1 ? (local - 1) * sum_memory.latency / 2 +
                                      crowding * sum_memory.Occupied(bytes)
                                : 0;
  return within + RingSeconds(sum_network, bytes, hosts) + back;
}

double LinkTimes::BroadcastSeconds(
    int64_t bytes, const std::vector<int>& ranks_by_host) const {
  const int hosts = static_cast<int>(ranks_by_host.size());
  const int local = Most(ranks_by_host);
  if (bytes == 0) return 0;
  double seconds = 0;
  if (hosts > 1) {
    seconds +=
        (hosts - 1) * sum_network.latency / 2 + sum_network.Occupied(bytes);
  }
  if (local > 1) {
    seconds +=
        (local - 1) * sum_memory.latency / 2 + sum_memory.Occupied(bytes);
  }
  return seconds;
}

absl::StatusOr<LinkTimes> LinkTimesOf(const Profile& profile,
                                      const Machines& machines,
                                      const LinksUsed& used) {
  const Link& link = machines.link();
  if (!(link.bytes_per_second() >= 0) || !(link.latency_seconds() >= 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "machines.link { bytes_per_second: ", link.bytes_per_second(),
        " latency_seconds: ", link.latency_seconds(),
        " }: neither may be below 0"));
  }
  LinkTimes times;
  times.memory =
      Measured(profile, TransferProfile::EXCHANGE_MEMORY).value_or(LinkLine{});
  GANDEM_ASSIGN_OR_RETURN(
      times.socket,
      Local(profile, TransferProfile::EXCHANGE_SOCKET, used.socket));
  GANDEM_ASSIGN_OR_RETURN(
      times.sum_memory,
      Local(profile, TransferProfile::COLLECTIVE_MEMORY, used.sum_memory));
  GANDEM_ASSIGN_OR_RETURN(times.network,
                          Remote(profile, link, TransferProfile::EXCHANGE_TCP,
                                 times.socket, used.network));
  GANDEM_ASSIGN_OR_RETURN(times.sum_network,
                          Remote(profile, link, TransferProfile::COLLECTIVE_TCP,
                                 times.sum_memory, used.sum_network));
  return times;
}

}  // namespace gandem
