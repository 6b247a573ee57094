// SPDX-License-Identifier: Apache-2.0
#include "deploy/slurm/batch_script.h"

#include <algorithm>
#include <span>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "deploy/text_template.h"

namespace gandem {

namespace internal {
extern const std::span<const unsigned char> kBatchScript;  // job.sbatch
}  // namespace internal

namespace {

void AddOption(absl::string_view name, absl::string_view value,
               std::string& text) {
  absl::StrAppend(&text, "#SBATCH --", name, value.empty() ? "" : "=", value,
                  "\n");
}

// Slurm hands on no option from one component to the next. When a node is lost,
// --no-kill saves the components of several nodes only, and the others are
// requeued to wait for them for ever: a heterogeneous job does without it.
std::string ComponentOptions(const SlurmJob& job, const SlurmFleet& fleet) {
  std::string text;
  if (!job.heterogeneous) AddOption("no-kill", "", text);
  if (!job.partition.empty()) AddOption("partition", job.partition, text);
  if (!job.account.empty()) AddOption("account", job.account, text);
  if (!job.time.empty()) AddOption("time", job.time, text);
  if (fleet.most_nodes > 0) {
    AddOption("nodes", absl::StrCat(fleet.most_nodes), text);
  }
  AddOption("ntasks", absl::StrCat(fleet.workers), text);
  AddOption("cpus-per-task", absl::StrCat(fleet.cpus), text);
  if (job.gpus_per_worker > 0) {
    AddOption("gpus-per-task", absl::StrCat(job.gpus_per_worker), text);
  }
  return text;
}

// A line of its own. No array: an empty one is unset to bash before 4.4.
std::string WatchingFlags(const SlurmJob& job) {
  std::string flags;
  if (job.metrics_port.has_value()) {
    absl::StrAppend(&flags,
                    " --metrics_listen \"$SLURMD_NODENAME:", *job.metrics_port,
                    "\"");
  }
  if (job.log_format != "text") {
    absl::StrAppend(&flags, " --log_format ", ShellQuoted(job.log_format));
  }
  return flags.empty() ? "" : absl::StrCat(" \\\n ", flags);
}

}  // namespace

std::string ShellQuoted(absl::string_view text) {
  const bool is_plain = !text.empty() && std::ranges::all_of(text, [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           absl::string_view("_-./+=,:@%").find(c) != absl::string_view::npos;
  });
  if (is_plain) return std::string(text);
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", R"('\'')"}}), "'");
}

std::string SlurmComment(absl::string_view run_dir) {
  return absl::StrCat("gandem:", run_dir);
}

std::string BatchScript(const SlurmJob& job) {
  std::vector<std::string> what;
  for (const std::string& argument : job.what) {
    what.push_back(ShellQuoted(argument));
  }
  const SlurmFleet& g = job.generators;
  const SlurmFleet& d = job.discriminators;
  const SlurmFleet both = {.workers = g.workers + d.workers,
                           .cpus = std::max(g.cpus, d.cpus),
                           .most_nodes = g.most_nodes + d.most_nodes};
  return FillIn(
      internal::kBatchScript,
      {{"name", job.name},
       {"comment", SlurmComment(job.run_dir)},
       {"plain_run_dir", job.run_dir},
       {"work_dir", job.work_dir},
       {"signal", job.signal},
       {"signal_seconds", absl::StrCat(job.signal_seconds)},
       {"heterogeneous", job.heterogeneous ? "yes" : ""},
       {"generators", ComponentOptions(job, g)},
       {"discriminators", ComponentOptions(job, d)},
       {"workers", ComponentOptions(job, both)},
       {"run_dir", ShellQuoted(job.run_dir)},
       {"programs", ShellQuoted(job.binary_folder)},
       {"what", absl::StrJoin(what, " ")},
       {"group", job.heterogeneous ? " --het-group=\"$group\"" : ""},
       {"generator_cpus", absl::StrCat(g.cpus)},
       {"discriminator_cpus", absl::StrCat(d.cpus)},
       {"gpus", job.gpus_per_worker > 0
                    ? absl::StrCat(" --gpus-per-task=", job.gpus_per_worker)
                    : ""},
       {"network", job.insecure_network ? " --insecure_network" : ""},
       {"watching", WatchingFlags(job)}});
}

}  // namespace gandem
