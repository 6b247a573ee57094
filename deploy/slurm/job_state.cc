// SPDX-License-Identifier: Apache-2.0
#include "deploy/slurm/job_state.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/files/printable.h"

namespace gandem {
namespace {

constexpr size_t kShownBytes = 200;

absl::Status NoJobState(absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("scontrol has not described a job: '",
                   Printable(text, kShownBytes), "'"));
}

// "17:0" is code 17, "0:15" the end by signal 15.
std::optional<int> ParseEnd(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  int code = 0;
  int signal = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &code) ||
      !absl::SimpleAtoi(parts[1], &signal) || code < 0 || code > 255 ||
      signal < 0 || signal > 127) {
    return std::nullopt;
  }
  return signal > 0 ? 128 + signal : code;
}

}  // namespace

// COMPLETING ends soon, and may be followed by PENDING.
bool SlurmJobState::is_over() const {
  for (const absl::string_view living :
       {"PENDING", "RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING",
        "REQUEUED", "STOPPED", "RESIZING"}) {
    if (state == living) return false;
  }
  return true;
}

absl::StatusOr<SlurmJobState> ParseSlurmJobState(absl::string_view text) {
  const absl::string_view line = text.substr(0, text.find('\n'));
  SlurmJobState job;
  bool has_end = false;
  for (absl::string_view word : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
    if (absl::ConsumePrefix(&word, "JobState=")) {
      job.state = Printable(word, kShownBytes);
    } else if (absl::ConsumePrefix(&word, "Reason=")) {
      job.reason = Printable(word, kShownBytes);
    } else if (absl::ConsumePrefix(&word, "Restarts=")) {
      if (!absl::SimpleAtoi(word, &job.restarts)) return NoJobState(text);
    } else if (absl::ConsumePrefix(&word, "BatchHost=")) {
      job.node = Printable(word, kShownBytes);
    } else if (absl::ConsumePrefix(&word, "ExitCode=") && !has_end) {
      const std::optional<int> end = ParseEnd(word);
      if (!end.has_value()) return NoJobState(text);
      job.exit_code = *end;
      has_end = true;
    }
  }
  if (job.state.empty() || !has_end) return NoJobState(text);
  return job;
}

absl::StatusOr<int64_t> ParseSlurmJobId(absl::string_view text) {
  const absl::string_view id =
      absl::StripAsciiWhitespace(text.substr(0, text.find(';')));
  int64_t job = 0;
  if (!std::ranges::all_of(id, absl::ascii_isdigit) ||
      !absl::SimpleAtoi(id, &job) || job <= 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "sbatch has not named a job: '", Printable(text, kShownBytes), "'"));
  }
  return job;
}

std::optional<int64_t> FindSlurmJob(absl::string_view queue,
                                    absl::string_view comment) {
  std::optional<int64_t> newest;
  for (const absl::string_view line : absl::StrSplit(queue, '\n')) {
    const size_t space = line.find(' ');
    if (space == absl::string_view::npos ||
        absl::StripAsciiWhitespace(line.substr(space)) != comment) {
      continue;
    }
    const absl::string_view number = line.substr(0, space);
    const auto job = ParseSlurmJobId(number.substr(0, number.find('+')));
    if (job.ok()) newest = std::max(newest.value_or(0), *job);
  }
  return newest;
}

}  // namespace gandem
