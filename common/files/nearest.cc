// SPDX-License-Identifier: Apache-2.0
#include "common/files/nearest.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

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

std::string WhyNoFlag(std::span<const char* const> arguments,
                      std::span<const KnownFlag> flags) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const absl::string_view argument = arguments[i];
    const std::string name(argument.substr(0, argument.find('=')));
    if (!absl::StartsWith(name, "--")) continue;
    const auto known = std::ranges::find(flags, name, &KnownFlag::name);
    if (known != flags.end()) {
      // Its value may look like a flag.
      if (known->takes_value && name.size() == argument.size()) ++i;
      continue;
    }
    std::vector<std::string> names;
    for (const KnownFlag& flag : flags) names.push_back(flag.name);
    const std::optional<std::string> nearest = Nearest(name, names);
    return absl::StrCat("there is no flag ", name,
                        nearest.has_value()
                            ? absl::StrCat("; did you mean ", *nearest, "?")
                            : "; --help lists those that there are");
  }
  return "";
}

}  // namespace gandem
