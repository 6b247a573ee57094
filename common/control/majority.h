// SPDX-License-Identifier: Apache-2.0
//
// Finds the outliers among values that should all be equal.
//
// Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace gandem {

// Returns the indices of the values that differ from the majority value; empty:
// all are equal. Without a majority, returns all indices.
template <typename T>
std::vector<size_t> OutsideMajority(const std::vector<T>& values) {
  std::vector<size_t> outside;
  if (values.empty()) return outside;
  std::vector<T> sorted = values;
  std::ranges::sort(sorted);
  const T& middle = sorted[sorted.size() / 2];
  const auto supporters = std::ranges::count(sorted, middle);
  const bool has_majority = 2 * supporters > std::ssize(values);
  for (size_t i = 0; i < values.size(); ++i) {
    if (!has_majority || values[i] != middle) outside.push_back(i);
  }
  return outside;
}

inline constexpr char kRanksApartUrl[] = "gandem/ranks-apart";

// Adds the ranks outside the majority of a fleet to a failure. RanksApart()
// reads the ranks; Annotate() keeps them.
inline absl::Status WithRanksApart(absl::Status failure,
                                   const std::vector<size_t>& ranks) {
  failure.SetPayload(kRanksApartUrl, absl::Cord(absl::StrJoin(ranks, ",")));
  return failure;
}

inline std::vector<int> RanksApart(const absl::Status& failure) {
  std::vector<int> ranks;
  const auto text = failure.GetPayload(kRanksApartUrl);
  if (!text.has_value()) return ranks;
  const std::string flat(*text);
  for (const absl::string_view each : absl::StrSplit(flat, ',')) {
    int rank = 0;
    if (absl::SimpleAtoi(each, &rank)) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace gandem
