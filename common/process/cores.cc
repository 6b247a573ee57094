// SPDX-License-Identifier: Apache-2.0
#include "common/process/cores.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files/file.h"

namespace gandem {
namespace {

// Parses "3" or "0-3" into first and last core; last < first if invalid.
std::pair<int, int> ParseRange(absl::string_view text) {
  const std::vector<absl::string_view> ends = absl::StrSplit(text, '-');
  int first = 0;
  int last = 0;
  if (ends.size() > 2 || !absl::SimpleAtoi(ends.front(), &first) ||
      !absl::SimpleAtoi(ends.back(), &last) || first < 0 ||
      last >= CPU_SETSIZE) {
    return {0, -1};
  }
  return {first, last};
}

}  // namespace

absl::StatusOr<std::vector<int>> ParseCores(absl::string_view text,
                                            std::span<const int> allowed) {
  std::set<int> cores;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const auto [first, last] = ParseRange(part);
    if (last < first) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", text, "' is no list of cores; expected one like 0-3,6"));
    }
    for (int core = first; core <= last; ++core) cores.insert(core);
  }
  for (const int core : cores) {
    if (!std::ranges::binary_search(allowed, core)) {
      return absl::InvalidArgumentError(
          absl::StrCat("core ", core, " of '", text,
                       "' is not among those that this process may use: ",
                       CoresText(allowed)));
    }
  }
  return std::vector<int>(cores.begin(), cores.end());
}

std::string CoresText(std::span<const int> cores) {
  std::string text;
  for (size_t i = 0; i < cores.size();) {
    size_t last = i;
    while (last + 1 < cores.size() && cores[last + 1] == cores[last] + 1) {
      ++last;
    }
    absl::StrAppend(&text, text.empty() ? "" : ",", cores[i]);
    if (last > i) absl::StrAppend(&text, "-", cores[last]);
    i = last + 1;
  }
  return text;
}

std::vector<int> AllowedCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

std::vector<int> CoresWithout(std::span<const int> cores,
                              std::span<const int> taken) {
  std::vector<int> rest;
  std::ranges::set_difference(cores, taken, std::back_inserter(rest));
  return rest;
}

absl::Status RunOnCores(std::span<const int> cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) {
    return FileError(errno, "cannot run on the cores", CoresText(cores));
  }
  return absl::OkStatus();
}

}  // namespace gandem
