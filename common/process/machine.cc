// SPDX-License-Identifier: Apache-2.0
#include "common/process/machine.h"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

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

namespace gandem {
namespace {

constexpr char kProcessors[] = "/proc/cpuinfo";
constexpr char kGpus[] = "/proc/driver/nvidia/gpus";
constexpr int64_t kMostBytes = 16 << 20;  // of many processors

// The lines of a file that begin so; none where there is no file.
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

// What stands behind the colon.
std::string ValueOf(absl::string_view line) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(line, absl::MaxSplits(':', 1));
  return std::string(absl::StripAsciiWhitespace(parts.second));
}

constexpr int64_t kMostStatusBytes = 1 << 20;
constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

// Of a line "NAME:   123 kB"; 0 where there is none.
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

// A number in a file; `missing` without it, and where it says "max".
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

// Where a version of control groups has these.
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
  // Files that the kernel gives back when somebody needs the memory.
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

// Of this process's group and those above it, of either version of control
// groups; in a container the root is the container's.
GroupMemory ReadGroups() {
  GroupMemory memory;
  for (const absl::string_view line :
       absl::StrSplit(TextOfFile("/proc/self/cgroup"), '\n')) {
    const std::vector<std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    const bool is_second = parts[1].empty();
    if (!is_second && parts[1] != "memory") continue;
    for (std::string path = parts[2];; path = ParentOf(path)) {
      if (is_second) {
        LookAtGroup(absl::StrCat("/sys/fs/cgroup", path),
                    {.limit = "memory.max",
                     .use = "memory.current",
                     .cache = "inactive_file "},
                    memory);
      } else {
        LookAtGroup(absl::StrCat("/sys/fs/cgroup/memory", path),
                    {.limit = "memory.limit_in_bytes",
                     .use = "memory.usage_in_bytes",
                     .cache = "total_inactive_file "},
                    memory);
      }
      if (path.size() <= 1) break;
    }
  }
  return memory;
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

int64_t FreeMemory() {
  const int64_t machine =
      BytesOfLine(TextOfFile("/proc/meminfo"), "MemAvailable");
  return std::min(machine, ReadGroups().free_bytes);
}

}  // namespace gandem
