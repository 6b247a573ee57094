// SPDX-License-Identifier: Apache-2.0
#include "common/process/failpoint.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/process/cut_connections.h"
#include "common/status.h"

namespace gandem {
namespace {

enum class Kind { kKill, kStop, kHang, kCut, kCorrupt };

struct Armed {
  Kind kind = Kind::kKill;
  std::string connections = {};  // to cut
  int place = 500;               // of the damage, in thousandths
  std::string name = {};
  int64_t count = 0;
  bool repeats = false;  // also at later passes
  std::string marker = {};
  std::atomic<int64_t> passes = 0;
};

// Written only while disarmed. A deque because the elements cannot move.
std::deque<Armed>& AllArmed() {
  static auto* const armed = new std::deque<Armed>;
  return *armed;
}

// Creates the marker file. Returns false if it exists.
bool Mark(const std::string& marker) {
  if (marker.empty()) return true;
  const int fd = open(marker.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0666);
  if (fd < 0) return false;
  const std::string pid = absl::StrCat(getpid(), "\n");
  // Tests wait for the line break.
  (void)!write(fd, pid.data(), pid.size());
  close(fd);
  return true;
}

absl::Status ParseKind(absl::string_view text, Armed& armed) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  const auto& [kind, value] = parts;
  for (const auto& [name, found] :
       {std::pair("", Kind::kKill), std::pair("kill", Kind::kKill),
        std::pair("stop", Kind::kStop), std::pair("hang", Kind::kHang),
        std::pair("cut", Kind::kCut), std::pair("corrupt", Kind::kCorrupt)}) {
    if (kind != name) continue;
    armed.kind = found;
    armed.connections = std::string(value);
    if (found != Kind::kCorrupt || text == kind) return absl::OkStatus();
    if (absl::SimpleAtoi(value, &armed.place) && armed.place >= 0 &&
        armed.place <= 999) {
      return absl::OkStatus();
    }
    break;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(kFailpointVariable, ": '", text,
                   "' is not one of kill, stop, hang, cut, cut=SOCKET, "
                   "corrupt, corrupt=0 to corrupt=999"));
}

// Returns whether the passing data should be damaged.
bool Pass(Armed& armed) {
  const int64_t pass = armed.passes.fetch_add(1) + 1;
  if (pass < armed.count || (pass > armed.count && !armed.repeats)) {
    return false;
  }
  if (!Mark(armed.marker)) return false;
  switch (armed.kind) {
    case Kind::kKill:
      kill(getpid(), SIGKILL);
      while (true) pause();  // nothing may run between here and the signal
    case Kind::kStop:
      raise(SIGSTOP);  // kill() would let this thread run on for a while
      return false;
    case Kind::kHang:
      while (true) pause();
    case Kind::kCut:
      CutConnections(armed.connections);
      return false;
    case Kind::kCorrupt:
      return true;
  }
  return false;
}

// Arms the failpoint in `text` if it is for this process.
absl::Status ArmOne(absl::string_view text, absl::string_view process) {
  const std::vector<std::string> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 2));
  int64_t count = 0;
  absl::string_view passes;
  if (parts.size() > 1) passes = parts[1];
  const bool repeats = absl::ConsumeSuffix(&passes, "+");
  if (!absl::SimpleAtoi(passes, &count) || count < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(kFailpointVariable, "='", text,
                     "' is not [KIND ]NAME[@PROCESS]:N[+][:FILE], N >= 1"));
  }
  std::pair<absl::string_view, absl::string_view> kind_and_point =
      absl::StrSplit(parts[0], absl::MaxSplits(' ', 1));
  if (kind_and_point.second.empty()) {
    std::swap(kind_and_point.first, kind_and_point.second);
  }
  const std::pair<absl::string_view, absl::string_view> name_and_process =
      absl::StrSplit(kind_and_point.second, absl::MaxSplits('@', 1));
  const auto& [name, only_process] = name_and_process;
  Armed& armed = AllArmed().emplace_back();
  GANDEM_RETURN_IF_ERROR(ParseKind(kind_and_point.first, armed));
  if (!only_process.empty() && only_process != process) {
    AllArmed().pop_back();
    return absl::OkStatus();
  }
  armed.name = std::string(name);
  armed.count = count;
  armed.repeats = repeats;
  armed.marker = parts.size() > 2 ? parts[2] : "";
  return absl::OkStatus();
}

}  // namespace

namespace internal {

constinit std::atomic<bool> failpoint_armed{false};

std::optional<int> PassFailpoint(absl::string_view name) {
  std::optional<int> place;
  for (Armed& armed : AllArmed()) {
    if (name == armed.name && Pass(armed)) place = armed.place;
  }
  return place;
}

}  // namespace internal

absl::Status ArmFailpointFromEnvironment(absl::string_view process) {
  const char* const text = std::getenv(kFailpointVariable);
  return ArmFailpoint(text == nullptr ? "" : text, process);
}

absl::Status ArmFailpoint(absl::string_view text, absl::string_view process) {
  internal::failpoint_armed.store(false);
  AllArmed().clear();
  for (const absl::string_view one :
       absl::StrSplit(text, ';', absl::SkipEmpty())) {
    GANDEM_RETURN_IF_ERROR(ArmOne(one, process));
  }
  internal::failpoint_armed.store(!AllArmed().empty());
  return absl::OkStatus();
}

}  // namespace gandem
