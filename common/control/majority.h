// SPDX-License-Identifier: Apache-2.0
//
// Finds the outliers among values that should all be equal.
//
// Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/cord.h"

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

// Marks a failure as a difference between the states of a fleet's workers.
// Annotate() keeps the mark.
inline absl::Status MarkStatesDiffer(absl::Status failure) {
  failure.SetPayload("gandem/states-differ", absl::Cord());
  return failure;
}
inline bool StatesDiffer(const absl::Status& failure) {
  return failure.GetPayload("gandem/states-differ").has_value();
}

}  // namespace gandem
