// SPDX-License-Identifier: Apache-2.0
//
// Tells who is wrong among several that should all have the same value.
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

// Indices of the values that are not the one that more than half of them are;
// empty: all are equal. Where no value has such a majority, all indices.
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

// Adds to a failure which ranks of a fleet are outside of its majority.
// RanksApart() reads them; Annotate() keeps them.
inline absl::Status WithRanksApart(absl::Status failure,
                                   const std::vector<size_t>& ranks) {
  failure.SetPayload(kRanksApartUrl, absl::Cord(absl::StrJoin(ranks, ",")));
  return failure;
}

// Returns no ranks if the failure names none.
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
