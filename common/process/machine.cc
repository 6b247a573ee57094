// SPDX-License-Identifier: Apache-2.0
#include "common/process/machine.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/files/file.h"
#include "common/process/cores.h"

namespace gandem {
namespace {

constexpr char kProcessors[] = "/proc/cpuinfo";
constexpr char kGpus[] = "/proc/driver/nvidia/gpus";
constexpr int64_t kMostBytes = 16 << 20;  // of many processors

// Returns the lines of a file that start with `begin`.
std::vector<std::string> LinesOf(const std::string& path,
                                 absl::string_view begin) {
  std::vector<std::string> lines;
  const absl::StatusOr<std::string> text = ReadFile(path, kMostBytes);
  if (!text.ok()) return lines;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (absl::StartsWith(line, begin)) lines.emplace_back(line);
  }
  return lines;
}

std::vector<std::string> GpuLines() {
  std::vector<std::string> lines;
  const auto gpus = ListDirectory(kGpus);
  if (!gpus.ok()) return lines;
  for (const std::string& gpu : *gpus) {
    for (std::string& line :
         LinesOf(absl::StrCat(kGpus, "/", gpu, "/information"), "Model")) {
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

std::string ValueOf(absl::string_view line) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(line, absl::MaxSplits(':', 1));
  return std::string(absl::StripAsciiWhitespace(parts.second));
}

constexpr int64_t kMostStatusBytes = 1 << 20;
constexpr char kGroups[] = "/proc/self/cgroup";
constexpr char kGroupRoot[] = "/sys/fs/cgroup";
constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

// Parses a line "NAME:   123 kB"; returns 0 if there is none.
int64_t BytesOfLine(absl::string_view text, absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, name)) continue;
    absl::ConsumePrefix(&line, ":");
    absl::ConsumeSuffix(&line, "kB");
    int64_t kilobytes = 0;
    if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(line), &kilobytes)) {
      return 0;
    }
    return kilobytes << 10;
  }
  return 0;
}

std::string TextOfFile(const std::string& path) {
  return ReadFile(path, kMostStatusBytes).value_or("");
}

// Reads a number; returns `missing` for "max" or if the file does not exist.
int64_t NumberIn(const std::string& path, int64_t missing) {
  int64_t number = 0;
  const std::string text = TextOfFile(path);
  return absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &number) ? number
                                                                     : missing;
}

struct GroupMemory {
  int64_t limit_bytes = kUnlimited;
  int64_t free_bytes = kUnlimited;
};

// File names of one version of control groups.
struct GroupFiles {
  const char* limit;
  const char* use;
  const char* cache;  // a line of memory.stat
};

void LookAtGroup(const std::string& folder, const GroupFiles& files,
                 GroupMemory& memory) {
  const int64_t limit =
      NumberIn(absl::StrCat(folder, "/", files.limit), kUnlimited);
  if (limit == kUnlimited) return;
  int64_t use = NumberIn(absl::StrCat(folder, "/", files.use), 0);
  // Subtracts the file cache, which the kernel frees on demand.
  for (const std::string& line :
       LinesOf(absl::StrCat(folder, "/memory.stat"), files.cache)) {
    int64_t cache = 0;
    if (absl::SimpleAtoi(absl::StripPrefix(line, files.cache), &cache)) {
      use -= std::min(use, cache);
    }
  }
  memory.limit_bytes = std::min(memory.limit_bytes, limit);
  memory.free_bytes =
      std::min(memory.free_bytes, std::max<int64_t>(0, limit - use));
}

// Visits the folders of the process's control group and its parents, version 1
// or 2. In a container the root is the container's. `groups`: see QuotaCores.
// `controller`: "memory" or "cpu".
void VisitGroups(
    absl::string_view groups, const std::string& root,
    absl::string_view controller,
    absl::FunctionRef<void(const std::string& folder, bool is_second)> visit) {
  for (const absl::string_view line : absl::StrSplit(groups, '\n')) {
    const std::vector<std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    const bool is_second = parts[1].empty();
    const std::vector<absl::string_view> controllers =
        absl::StrSplit(parts[1], ',');
    if (!is_second && std::ranges::count(controllers, controller) == 0) {
      continue;
    }
    // Version 1 also mounts combined controllers under each single name.
    const std::string base =
        is_second ? root : absl::StrCat(root, "/", controller);
    for (std::string path = parts[2];; path = ParentOf(path)) {
      visit(absl::StrCat(base, path), is_second);
      if (path.size() <= 1) break;
    }
  }
}

GroupMemory ReadGroups() {
  GroupMemory memory;
  const auto look = [&memory](const std::string& folder, bool is_second) {
    if (is_second) {
      LookAtGroup(folder,
                  {.limit = "memory.max",
                   .use = "memory.current",
                   .cache = "inactive_file "},
                  memory);
    } else {
      LookAtGroup(folder,
                  {.limit = "memory.limit_in_bytes",
                   .use = "memory.usage_in_bytes",
                   .cache = "total_inactive_file "},
                  memory);
    }
  };
  VisitGroups(TextOfFile(kGroups), kGroupRoot, "memory", look);
  return memory;
}

// Returns the CPU time per period, in processors; infinity without a quota.
double QuotaOf(const std::string& folder, bool is_second) {
  int64_t quota = 0;
  int64_t period = 0;
  if (is_second) {  // "max 100000" or "150000 100000"
    const std::vector<std::string> numbers =
        absl::StrSplit(TextOfFile(folder + "/cpu.max"), absl::ByAnyChar(" \n"));
    if (numbers.size() >= 2) {
      (void)absl::SimpleAtoi(numbers[0], &quota);
      (void)absl::SimpleAtoi(numbers[1], &period);
    }
  } else {  // -1 or the number
    quota = NumberIn(folder + "/cpu.cfs_quota_us", 0);
    period = NumberIn(folder + "/cpu.cfs_period_us", 0);
  }
  return quota > 0 && period > 0
             ? static_cast<double>(quota) / static_cast<double>(period)
             : std::numeric_limits<double>::infinity();
}

}  // namespace

std::set<std::string> MachineKind(bool with_gpus) {
  std::set<std::string> lines;
  for (const char* const begin : {"model name", "flags"}) {
    const auto found = LinesOf(kProcessors, begin);
    lines.insert(found.begin(), found.end());
  }
  if (with_gpus) {
    const auto gpus = GpuLines();
    lines.insert(gpus.begin(), gpus.end());
  }
  return lines;
}

std::string MachineName() {
  std::vector<std::string> names;
  const auto processors = LinesOf(kProcessors, "model name");
  names.push_back(processors.empty() ? "unknown processor"
                                     : ValueOf(processors.front()));
  for (const std::string& line : GpuLines()) names.push_back(ValueOf(line));
  return absl::StrJoin(names, ", ");
}

MemoryUse ResidentMemory(pid_t process) {
  const std::string text =
      TextOfFile(process == 0 ? "/proc/self/status"
                              : absl::StrCat("/proc/", process, "/status"));
  return {.now_bytes = BytesOfLine(text, "VmRSS"),
          .peak_bytes = BytesOfLine(text, "VmHWM")};
}

int64_t TotalMemory() {
  const int64_t machine =
      int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return std::min(machine, ReadGroups().limit_bytes);
}

double QuotaCores(absl::string_view groups, const std::string& root) {
  double cores = std::numeric_limits<double>::infinity();
  VisitGroups(groups, root, "cpu",
              [&cores](const std::string& folder, bool is_second) {
                cores = std::min(cores, QuotaOf(folder, is_second));
              });
  return cores;
}

int UsableCores() {
  const auto allowed = static_cast<double>(AllowedCores().size());
  const double quota = QuotaCores(TextOfFile(kGroups), kGroupRoot);
  return std::max(1, static_cast<int>(std::min(allowed, std::ceil(quota))));
}

int64_t FreeMemory() {
  const int64_t machine =
      BytesOfLine(TextOfFile("/proc/meminfo"), "MemAvailable");
  return std::min(machine, ReadGroups().free_bytes);
}

}  // namespace gandem
