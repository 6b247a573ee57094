// SPDX-License-Identifier: Apache-2.0
#include "common/config/parameter_patterns.h"

#include <fnmatch.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/faults.h"
#include "common/files/nearest.h"

namespace gandem {
namespace {

constexpr absl::string_view kWildcards = "*?";

// Returns the edit distance of a name to the plain text before the pattern's
// first wildcard, or after its last wildcard if the pattern starts with one.
size_t PatternDistance(absl::string_view pattern, absl::string_view name) {
  const absl::string_view start =
      pattern.substr(0, pattern.find_first_of(kWildcards));
  if (start.size() == pattern.size()) return EditDistance(pattern, name);
  if (!start.empty()) return EditDistance(start, name.substr(0, start.size()));
  const absl::string_view end =
      pattern.substr(pattern.find_last_of(kWildcards) + 1);
  const size_t skip = name.size() - std::min(name.size(), end.size());
  return EditDistance(end, name.substr(skip));
}

std::string NearestNames(absl::string_view pattern,
                         std::span<const std::string> names) {
  constexpr size_t kShown = 3;
  std::vector<std::pair<size_t, std::string>> by_distance;
  for (const std::string& name : names) {
    by_distance.emplace_back(PatternDistance(pattern, name), name);
  }
  std::ranges::stable_sort(by_distance, {},
                           &std::pair<size_t, std::string>::first);
  by_distance.resize(std::min(by_distance.size(), kShown));
  return absl::StrJoin(by_distance, ", ",
                       [](std::string* text, const auto& item) {
                         absl::StrAppend(text, item.second);
                       });
}

bool MatchesAny(const std::string& pattern,
                std::span<const std::string> names) {
  return std::ranges::any_of(names, [&](const std::string& name) {
    return MatchesPattern(pattern, name);
  });
}

std::string NoMatch(const std::string& field, const std::string& pattern,
                    std::span<const std::string> names) {
  return absl::StrCat(
      field, " \"", pattern, "\" matches none of the network's ", names.size(),
      " parameters; the nearest are ", NearestNames(pattern, names),
      ": correct it, or remove it");
}

// Returns the index of the first matching group, or the number of groups.
int GroupOf(const OptimizerConfig& optimizer, const std::string& name) {
  int i = 0;
  while (i < optimizer.group_size() &&
         !MatchesPattern(optimizer.group(i).parameters(), name)) {
    ++i;
  }
  return i;
}

void CheckGroupPatterns(const std::string& role, FreezePatterns freeze,
                        const OptimizerConfig& optimizer,
                        std::span<const std::string> names, Faults& faults) {
  std::vector<bool> has_members(optimizer.group_size() + 1);
  for (const std::string& name : names) {
    if (!IsFrozen(freeze, name)) has_members[GroupOf(optimizer, name)] = true;
  }
  for (int i = 0; i < optimizer.group_size(); ++i) {
    if (has_members[i]) continue;
    const std::string& pattern = optimizer.group(i).parameters();
    const std::string field =
        absl::StrCat(role, ".optimizer.group[", i, "].parameters");
    if (MatchesAny(pattern, names)) {
      faults.Add(absl::StrCat(
          field, " \"", pattern,
          "\" has no parameter left: all that it matches "
          "are frozen or belong to groups before it; move it forward, or "
          "remove it"));
    } else {
      faults.Add(NoMatch(field, pattern, names));
    }
  }
}

}  // namespace

bool MatchesPattern(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
}

bool IsFrozen(FreezePatterns freeze, const std::string& name) {
  return std::ranges::any_of(freeze, [&](const std::string& pattern) {
    return MatchesPattern(pattern, name);
  });
}

double RateFactorOf(const OptimizerConfig& optimizer, const std::string& name) {
  const int group = GroupOf(optimizer, name);
  return group == optimizer.group_size()
             ? 1
             : optimizer.group(group).learning_rate_factor();
}

absl::Status CheckPatterns(const std::string& role, FreezePatterns freeze,
                           const OptimizerConfig& optimizer,
                           std::span<const std::string> names) {
  Faults faults("config");
  for (size_t i = 0; i < freeze.size(); ++i) {
    if (MatchesAny(freeze[i], names)) continue;
    faults.Add(
        NoMatch(absl::StrCat(role, ".freeze[", i, "]"), freeze[i], names));
  }
  const bool all_frozen = std::ranges::all_of(
      names, [&](const std::string& name) { return IsFrozen(freeze, name); });
  if (all_frozen) {
    faults.Add(absl::StrCat(role, ".freeze leaves none of the network's ",
                            names.size(),
                            " parameters to train: leave one out at least"));
  } else {
    CheckGroupPatterns(role, freeze, optimizer, names, faults);
  }
  return faults.empty() ? absl::OkStatus() : faults.ToStatus();
}

}  // namespace gandem
