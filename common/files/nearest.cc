// SPDX-License-Identifier: Apache-2.0
#include "common/files/nearest.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace gandem {

size_t EditDistance(absl::string_view a, absl::string_view b) {
  // Rows of the usual table: distances from prefixes of `a` to those of `b`.
  std::vector<size_t> before_last(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

// A far guess does not help.
std::optional<std::string> Nearest(absl::string_view name,
                                   std::span<const std::string> candidates) {
  const std::string wanted = absl::AsciiStrToLower(name);
  size_t best = std::max<size_t>(1, name.size() / 3) + 1;
  std::optional<std::string> nearest;
  for (const std::string& candidate : candidates) {
    const size_t distance =
        EditDistance(wanted, absl::AsciiStrToLower(candidate));
    if (distance >= best) continue;
    best = distance;
    nearest = candidate;
  }
  return nearest;
}

std::optional<int64_t> WithoutUnit(absl::string_view value, int64_t kilo) {
  const size_t digits =
      std::min(value.find_first_not_of("0123456789"), value.size());
  const std::string unit = absl::AsciiStrToLower(value.substr(digits));
  const size_t power = absl::string_view("kmgt").find(unit.substr(0, 1));
  const bool is_unit = !unit.empty() && power != absl::string_view::npos;
  const std::string rest = is_unit ? unit.substr(1) : unit;
  int64_t number = 0;
  if (!is_unit || !(rest.empty() || rest == "b" || rest == "ib") ||
      !absl::SimpleAtoi(value.substr(0, digits), &number)) {
    return std::nullopt;
  }
  for (size_t i = 0; i <= power; ++i) {
    if (number > std::numeric_limits<int64_t>::max() / kilo) {
      return std::nullopt;
    }
    number *= kilo;
  }
  return number;
}

}  // namespace gandem
