// SPDX-License-Identifier: Apache-2.0
#include "deploy/slurm/slurm_tools.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/files/printable.h"
#include "common/monotonic_time.h"
#include "common/process/child_process.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr absl::Duration kToolDeadline = absl::Minutes(1);
constexpr size_t kMaxToolWords = 2000;
constexpr int kNoSuchProgram = 127;  // exit code of env

// Runs a program and returns its output, including standard error.
absl::StatusOr<std::string> RunTool(std::vector<std::string> arguments) {
  const std::string name = arguments.front();
  // env looks for the program in $PATH.
  arguments.insert(arguments.begin(), "/usr/bin/env");
  auto said = RunToEnd({.arguments = std::move(arguments)},
                       MonotonicNow() + kToolDeadline);
  if (absl::IsDeadlineExceeded(said.status())) {
    return absl::UnavailableError(absl::StrCat(
        name, " has not answered within ", absl::FormatDuration(kToolDeadline),
        ": ask `scontrol ping` whether slurmctld is up, then try again"));
  }
  GANDEM_RETURN_IF_ERROR(said);
  if (said->end.exit_code == kNoSuchProgram) {
    return absl::NotFoundError(absl::StrCat(
        "there is no ", name, " in $PATH: run this where jobs are submitted, ",
        "or pass --dry_run and submit the script there"));
  }
  if (said->end.exit_code == 0) return std::move(said->text);
  absl::StripAsciiWhitespace(&said->text);
  return absl::InvalidArgumentError(
      absl::StrCat(name, " ", said->end.description, ": ",
                   Printable(said->text, kMaxToolWords)));
}

// Returns the job number at the start of `text`: 17 for "17", "17;cluster" (a
// named cluster) and "17+1" (a component of a job). Returns 0 without a number.
int64_t NumberOf(absl::string_view text) {
  const size_t end = text.find_first_not_of("0123456789");
  int64_t job = 0;
  return absl::SimpleAtoi(text.substr(0, end), &job) ? job : 0;
}

}  // namespace

absl::StatusOr<int64_t> SubmitSlurmJob(const std::string& script) {
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          RunTool({"sbatch", "--parsable", script}));
  // Warnings may precede the number.
  const std::vector<std::string> lines =
      absl::StrSplit(absl::StripAsciiWhitespace(text), '\n');
  const int64_t job = NumberOf(lines.back());
  if (job > 0) return job;
  return absl::InvalidArgumentError(absl::StrCat(
      "sbatch has not named a job: '", Printable(text, kMaxToolWords), "'"));
}

absl::StatusOr<std::optional<int64_t>> FindSlurmJob(
    const std::string& comment) {
  GANDEM_ASSIGN_OR_RETURN(
      const std::string text,
      RunTool({"squeue", "--me", "--noheader", "--format=%i %k"}));
  std::optional<int64_t> newest;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> job =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    const int64_t number = NumberOf(job.first);
    if (number == 0 || absl::StripAsciiWhitespace(job.second) != comment) {
      continue;
    }
    newest = std::max(newest.value_or(0), number);
  }
  return newest;
}

}  // namespace gandem
