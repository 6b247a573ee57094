// SPDX-License-Identifier: Apache-2.0
#include "deploy/slurm/slurm_job.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/faults.h"
#include "common/status.h"

namespace gandem {
namespace {

// Slurm sends the signal up to a minute early.
constexpr absl::Duration kSlurmSignalSlack = absl::Seconds(60);
constexpr int64_t kMaxTimePart = 1'000'000;

absl::Status NoTime(absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(
      "--time '", text, "' is no time of Slurm's, as in 90 (minutes), 8:00:00 ",
      "or 1-12 (days-hours)"));
}

// Of names in #SBATCH lines, where Slurm replaces % and shells are not asked.
bool IsPlainName(absl::string_view text) {
  return !text.empty() && text.front() != '-' &&
         std::ranges::all_of(text, [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                  absl::string_view("_-./+=,:@").find(c) !=
                      absl::string_view::npos;
         });
}

void CheckName(absl::string_view flag, absl::string_view text, Faults& faults) {
  if (IsPlainName(text)) return;
  faults.Add(absl::StrCat(flag, " '", text,
                          "' has to be of letters, digits and _-./+=,:@"));
}

void CheckTime(const SlurmJob& job, Faults& faults) {
  if (job.time.empty()) return;
  const absl::StatusOr<absl::Duration> limit = ParseSlurmTime(job.time);
  if (!limit.ok()) {
    faults.Add(std::string(limit.status().message()));
    return;
  }
  const absl::Duration least =
      absl::Seconds(job.signal_seconds) + kSlurmSignalSlack;
  if (*limit > least) return;
  faults.Add(absl::StrCat(
      "--time ", job.time, " leaves nothing to train: the signal for the last ",
      "checkpoint comes --signal_seconds ", job.signal_seconds,
      " before its end, and up to a minute earlier; give more than ",
      absl::FormatDuration(least)));
}

void CheckNodes(const SlurmJob& job, Faults& faults) {
  const int64_t nodes =
      job.generators.most_nodes + job.discriminators.most_nodes;
  if (nodes > 0 && job.heterogeneous &&
      (job.generators.most_nodes == 0 || job.discriminators.most_nodes == 0)) {
    faults.Add(
        "--layout het needs two nodes, one for each role, and --nodes gives "
        "one: such a job would wait for ever; use --layout one");
  }
  const int64_t workers = job.generators.workers + job.discriminators.workers;
  if (nodes > workers) {
    faults.Add(absl::StrCat("--nodes ", nodes, " is more than the ", workers,
                            " workers of the run"));
  }
}

}  // namespace

std::string SlurmScriptPath(absl::string_view run_dir) {
  return absl::StrCat(run_dir, "/slurm/job.sbatch");
}

absl::StatusOr<absl::Duration> ParseSlurmTime(absl::string_view text) {
  const std::vector<absl::string_view> days = absl::StrSplit(text, '-');
  const std::vector<absl::string_view> clock = absl::StrSplit(days.back(), ':');
  const bool has_days = days.size() == 2;
  if (days.size() > 2 || clock.size() > 3) return NoTime(text);
  std::vector<int64_t> parts;
  for (const absl::string_view part : clock) {
    int64_t number = 0;
    if (part.empty() || !std::ranges::all_of(part, absl::ascii_isdigit) ||
        !absl::SimpleAtoi(part, &number) || number > kMaxTimePart) {
      return NoTime(text);
    }
    parts.push_back(number);
  }
  absl::Duration total = absl::ZeroDuration();
  if (has_days) {
    int64_t number = 0;
    if (days[0].empty() || !std::ranges::all_of(days[0], absl::ascii_isdigit) ||
        !absl::SimpleAtoi(days[0], &number) || number > kMaxTimePart) {
      return NoTime(text);
    }
    total += absl::Hours(24) * number;
  }
  // One part is minutes, or hours behind days; two are M:S, or H:M.
  const absl::Duration units[] = {absl::Hours(1), absl::Minutes(1),
                                  absl::Seconds(1)};
  const size_t first = has_days || parts.size() == 3 ? 0 : 1;
  for (size_t i = 0; i < parts.size(); ++i)
    total += parts[i] * units[first + i];
  if (total <= absl::ZeroDuration()) return NoTime(text);
  return total;
}

absl::Status CheckSlurmJob(const SlurmJob& job) {
  Faults faults("arguments");
  CheckName("name", job.name, faults);
  CheckName("--run_dir", job.run_dir, faults);
  CheckName("the folder of gandem's programs", job.binary_folder, faults);
  if (!job.partition.empty()) CheckName("--partition", job.partition, faults);
  if (!job.account.empty()) CheckName("--account", job.account, faults);
  CheckTime(job, faults);
  CheckNodes(job, faults);
  return faults.ToStatus();
}

}  // namespace gandem
