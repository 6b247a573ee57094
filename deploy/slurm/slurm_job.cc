// SPDX-License-Identifier: Apache-2.0
#include "deploy/slurm/slurm_job.h"

#include <algorithm>
#include <span>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/faults.h"
#include "deploy/text_template.h"

namespace gandem {

namespace internal {
extern const std::span<const unsigned char> kBatchScript;  // job.sbatch
}  // namespace internal

namespace {

bool HasOnlyPlain(absl::string_view text, absl::string_view signs) {
  return std::ranges::all_of(text, [signs](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           signs.find(c) != absl::string_view::npos;
  });
}

// Checks a value for #SBATCH lines, in which Slurm replaces % and quotes have
// no effect.
void CheckName(absl::string_view flag, absl::string_view text, Faults& faults) {
  if (!text.empty() && text.front() != '-' && HasOnlyPlain(text, "_-./+=,:@")) {
    return;
  }
  faults.Add(absl::StrCat(flag, " '", text,
                          "' has to be of letters, digits and _-./+=,:@"));
}

// Returns the sbatch options of the allocation, one per line.
std::string AllocationOptions(const SlurmJob& job) {
  const SlurmAllocation& allocation = job.allocation;
  std::string text;
  const auto add = [&text](absl::string_view name, const auto& value) {
    absl::StrAppend(&text, "#SBATCH --", name, "=", value, "\n");
  };
  if (!allocation.partition.empty()) add("partition", allocation.partition);
  if (!allocation.account.empty()) add("account", allocation.account);
  if (!allocation.time.empty()) add("time", allocation.time);
  if (allocation.nodes > 0) add("nodes", allocation.nodes);
  add("ntasks", job.workers);
  add("cpus-per-task", std::max(job.generator_cpus, job.discriminator_cpus));
  if (allocation.gpus_per_worker > 0) {
    add("gpus-per-task", allocation.gpus_per_worker);
  }
  return text;
}

// Returns a further line with flags. Avoids a bash array, because bash before
// 4.4 treats an empty array as unset.
std::string WatchingFlags(const SlurmAllocation& allocation) {
  std::string flags;
  if (allocation.metrics_port.has_value()) {
    absl::StrAppend(&flags, " --metrics_listen \"$SLURMD_NODENAME:",
                    *allocation.metrics_port, "\"");
  }
  if (allocation.log_format != "text") {
    absl::StrAppend(&flags, " --log_format ",
                    ShellQuoted(allocation.log_format));
  }
  return flags.empty() ? "" : absl::StrCat(" \\\n ", flags);
}

}  // namespace

std::string SlurmScriptPath(absl::string_view run_dir) {
  return absl::StrCat(run_dir, "/slurm/job.sbatch");
}

std::string ShellQuoted(absl::string_view text) {
  if (!text.empty() && HasOnlyPlain(text, "_-./+=,:@%")) {
    return std::string(text);
  }
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", R"('\'')"}}), "'");
}

std::string SlurmComment(absl::string_view run_dir) {
  return absl::StrCat("gandem:", run_dir);
}

absl::Status CheckSlurmJob(const SlurmJob& job) {
  const SlurmAllocation& allocation = job.allocation;
  Faults faults("arguments");
  CheckName("name", job.name, faults);
  CheckName("--run_dir", job.run_dir, faults);
  CheckName("the folder of gandem's programs", job.binary_folder, faults);
  for (const auto& [flag, text] :
       {std::pair("--partition", allocation.partition),
        std::pair("--account", allocation.account),
        std::pair("--time", allocation.time)}) {
    if (!text.empty()) CheckName(flag, text, faults);
  }
  if (allocation.nodes > job.workers) {
    faults.Add(absl::StrCat("--nodes ", allocation.nodes, " is more than the ",
                            job.workers, " workers of the run"));
  }
  return faults.ToStatus();
}

std::string BatchScript(const SlurmJob& job) {
  const SlurmAllocation& allocation = job.allocation;
  const auto quote = [](std::string* text, const std::string& argument) {
    text->append(ShellQuoted(argument));
  };
  return FillIn(
      internal::kBatchScript,
      {{"name", job.name},
       {"comment", SlurmComment(job.run_dir)},
       {"plain_run_dir", job.run_dir},
       {"work_dir", job.work_dir},
       {"signal_seconds", absl::StrCat(allocation.signal_seconds)},
       {"allocation", AllocationOptions(job)},
       {"run_dir", ShellQuoted(job.run_dir)},
       {"programs", ShellQuoted(job.binary_folder)},
       {"what", absl::StrJoin(job.what, " ", quote)},
       {"generator_cpus", absl::StrCat(job.generator_cpus)},
       {"discriminator_cpus", absl::StrCat(job.discriminator_cpus)},
       {"gpus",
        allocation.gpus_per_worker > 0
            ? absl::StrCat(" --gpus-per-task=", allocation.gpus_per_worker)
            : ""},
       {"network", allocation.insecure_network ? " --insecure_network" : ""},
       {"watching", WatchingFlags(allocation)}});
}

}  // namespace gandem
