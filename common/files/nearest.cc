// SPDX-License-Identifier: Apache-2.0
#include "common/files/nearest.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace gandem {

size_t EditDistance(absl::string_view a, absl::string_view b) {
  // Rows of dynamic programming: distances of prefixes of `a` and `b`.
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

std::vector<std::string> Nearest(absl::string_view name,
                                 std::span<const std::string> candidates) {
  const std::string wanted = absl::AsciiStrToLower(name);
  const size_t farthest = std::max<size_t>(1, name.size() / 3);
  std::vector<std::pair<size_t, std::string>> near;
  for (const std::string& candidate : candidates) {
    const size_t distance =
        EditDistance(wanted, absl::AsciiStrToLower(candidate));
    if (distance <= farthest) near.push_back({distance, candidate});
  }
  std::ranges::stable_sort(near, {}, &std::pair<size_t, std::string>::first);
  std::vector<std::string> names;
  for (auto& [distance, candidate] : near) {
    if (names.size() < 3) names.push_back(std::move(candidate));
  }
  return names;
}

std::string DidYouMean(absl::string_view name,
                       std::span<const std::string> candidates) {
  const std::vector<std::string> names = Nearest(name, candidates);
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    absl::StrAppend(&text,
                    i == 0                  ? "did you mean "
                    : i + 1 == names.size() ? " or "
                                            : ", ",
                    "'", names[i], "'");
  }
  return text.empty() ? "" : absl::StrCat(text, "?");
}

std::string WhyNoFlag(std::span<const char* const> arguments,
                      std::span<const KnownFlag> flags) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const absl::string_view argument = arguments[i];
    const std::string name(argument.substr(0, argument.find('=')));
    if (!absl::StartsWith(name, "--")) continue;
    const auto known = std::ranges::find(flags, name, &KnownFlag::name);
    if (known != flags.end()) {
      // Skips the flag's value, which may look like a flag.
      if (known->takes_value && name.size() == argument.size()) ++i;
      continue;
    }
    std::vector<std::string> names;
    for (const KnownFlag& flag : flags) names.push_back(flag.name);
    const std::string guess = DidYouMean(name, names);
    if (!guess.empty()) {
      return absl::StrCat("there is no flag ", name, "; ", guess);
    }
    const bool sets = std::ranges::find(names, "--set") != names.end();
    return absl::StrCat(
        "there is no flag ", name, "; --help lists the flags",
        sets ? ", and --set FIELD=VALUE sets a field of the recipe" : "");
  }
  return "";
}

}  // namespace gandem
