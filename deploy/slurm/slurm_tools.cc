// SPDX-License-Identifier: Apache-2.0
#include "deploy/slurm/slurm_tools.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/files/file.h"
#include "common/files/printable.h"
#include "common/monotonic_time.h"
#include "common/process/child_process.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr absl::Duration kToolDeadline = absl::Minutes(1);
constexpr absl::Duration kToolPoll = absl::Milliseconds(5);
constexpr int64_t kMaxToolOutput = 1 << 20;
constexpr size_t kMaxToolWords = 2000;
constexpr int kNoSuchProgram = 127;  // of env

// What the program prints, standard error included.
absl::StatusOr<std::string> RunTool(const std::string& scratch,
                                    std::vector<std::string> arguments) {
  const std::string name = arguments.front();
  GANDEM_RETURN_IF_ERROR(CreateDirectories(scratch));
  const std::string output = TemporaryName(scratch + "/" + name);
  const absl::Cleanup remove = [&] { RemoveAll(output).IgnoreError(); };
  GANDEM_RETURN_IF_ERROR(RemoveAll(output));
  // It looks for the program in $PATH.
  arguments.insert(arguments.begin(), "/usr/bin/env");
  auto child = ChildProcess::Start(
      {.arguments = std::move(arguments), .log_path = output});
  GANDEM_RETURN_IF_ERROR(child);
  const absl::Time deadline = MonotonicNow() + kToolDeadline;
  std::optional<ProcessEnd> end;
  while (!(end = child->Poll()).has_value()) {
    if (MonotonicNow() > deadline) {
      return absl::UnavailableError(absl::StrCat(
          name, " has not answered within ",
          absl::FormatDuration(kToolDeadline),
          ": ask `scontrol ping` whether slurmctld is up, then try again"));
    }
    absl::SleepFor(kToolPoll);
  }
  if (end->exit_code == kNoSuchProgram) {
    return absl::NotFoundError(absl::StrCat(
        "there is no ", name, " in $PATH: run this where jobs are submitted, ",
        "or pass --dry_run and submit the script there"));
  }
  GANDEM_ASSIGN_OR_RETURN(std::string text, ReadFile(output, kMaxToolOutput));
  if (end->exit_code == 0) return text;
  absl::StripAsciiWhitespace(&text);
  return absl::InvalidArgumentError(absl::StrCat(
      name, " ", end->description, ": ", Printable(text, kMaxToolWords)));
}

}  // namespace

absl::StatusOr<int64_t> SlurmTools::Submit(const std::string& script) {
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          RunTool(scratch_, {"sbatch", "--parsable", script}));
  // Warnings may stand before it.
  const std::vector<std::string> lines =
      absl::StrSplit(absl::StripAsciiWhitespace(text), '\n');
  return ParseSlurmJobId(lines.back());
}

absl::StatusOr<SlurmJobState> SlurmTools::JobState(int64_t job) {
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          RunTool(scratch_, {"scontrol", "--oneliner", "show",
                                             "job", absl::StrCat(job)}));
  return ParseSlurmJobState(text);
}

absl::StatusOr<std::optional<int64_t>> SlurmTools::FindJob(
    const std::string& comment) {
  GANDEM_ASSIGN_OR_RETURN(
      const std::string text,
      RunTool(scratch_, {"squeue", "--me", "--noheader", "--format=%i %k"}));
  return FindSlurmJob(text, comment);
}

}  // namespace gandem
