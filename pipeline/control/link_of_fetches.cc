// SPDX-License-Identifier: Apache-2.0
#include "pipeline/control/link_of_fetches.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace gandem {
namespace {

constexpr double kPartSeconds = 0.25;
constexpr double kCrowded = 2;   // times the usual service time
constexpr double kAlike = 0.15;  // rates that differ by less

double QuantileOf(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  const auto place = static_cast<ptrdiff_t>(
      part * static_cast<double>(values.size() - 1) + 0.5);
  std::ranges::nth_element(values, values.begin() + place);
  return values[static_cast<size_t>(place)];
}

// What ended in a part, and what was under way.
struct PartSeen {
  double bytes = 0;
  std::vector<double> seconds = {};
  bool under_way = false;  // all the time, and for long
};

size_t PartAt(double at, size_t parts) {
  return std::min(static_cast<size_t>(at / kPartSeconds), parts - 1);
}

std::vector<PartSeen> PartsOf(const std::vector<FetchRecord>& fetches,
                              double seconds, double slow) {
  const auto count = static_cast<size_t>(std::ceil(seconds / kPartSeconds)) + 1;
  std::vector<PartSeen> parts(count);
  std::vector<int> waits(count + 1);
  for (const FetchRecord& fetch : fetches) {
    const double end = fetch.at + fetch.seconds;
    if (end > seconds) continue;
    PartSeen& part = parts[PartAt(end, count)];
    part.bytes += static_cast<double>(fetch.bytes);
    part.seconds.push_back(fetch.seconds);
    if (fetch.seconds <= slow) continue;
    ++waits[PartAt(fetch.at, count) + 1];
    --waits[std::max(PartAt(end, count), PartAt(fetch.at, count) + 1)];
  }
  int waiting = 0;
  for (size_t i = 0; i < count; ++i) {
    waiting += waits[i];
    parts[i].under_way = waiting > 0;
  }
  return parts;
}

bool Alike(const LinkPart& a, const LinkPart& b) {
  const double most = std::max(a.bytes_per_second, b.bytes_per_second);
  return std::abs(a.bytes_per_second - b.bytes_per_second) <= kAlike * most &&
         std::abs(a.latency - b.latency) <=
             kAlike * std::max(a.latency, b.latency);
}

}  // namespace

std::vector<LinkPart> LinkOfFetches(std::vector<FetchRecord> fetches,
                                    double seconds) {
  std::vector<double> times;
  for (const FetchRecord& fetch : fetches) times.push_back(fetch.seconds);
  const double usual = QuantileOf(times, 0.5);
  const double slow = std::max(kPartSeconds, 2 * QuantileOf(times, 0.95));
  const std::vector<PartSeen> parts = PartsOf(fetches, seconds, slow);
  std::vector<double> rates;
  std::vector<double> calm;
  for (const PartSeen& part : parts) {
    if (part.seconds.empty()) continue;
    rates.push_back(part.bytes / kPartSeconds);
    if (QuantileOf(part.seconds, 0.5) > kCrowded * usual) continue;
    calm.insert(calm.end(), part.seconds.begin(), part.seconds.end());
  }
  const double fastest = std::max(1.0, QuantileOf(rates, 0.95));
  const double low = QuantileOf(calm, 0.1);
  const double high = QuantileOf(calm, 0.9);
  std::vector<LinkPart> link;
  for (size_t i = 0; i < parts.size(); ++i) {
    const PartSeen& seen = parts[i];
    LinkPart part = {.at = static_cast<double>(i) * kPartSeconds,
                     .latency = (low + high) / 2,
                     .spread = (high - low) / 2,
                     .bytes_per_second = fastest};
    if (seen.seconds.empty()) {
      if (seen.under_way) part.bytes_per_second = 0;
    } else if (QuantileOf(seen.seconds, 0.5) > kCrowded * usual) {
      part.bytes_per_second = seen.bytes / kPartSeconds;
    }
    if (link.empty() || !Alike(link.back(), part)) link.push_back(part);
  }
  return link;
}

std::vector<LinkPart> LinkOf(const PipelineTrace& trace) {
  return trace.link.empty() ? LinkOfFetches(trace.fetches, trace.seconds)
                            : trace.link;
}

}  // namespace gandem
