// SPDX-License-Identifier: Apache-2.0
#include "deploy/slurm/batch_script.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace gandem {
namespace {

constexpr char kSlurmIntro[] = R"sh(#!/bin/bash
# Written by `gandem launch slurm`. `sbatch` it again to go on with the run, from
# its newest checkpoint; `scancel` makes one first. docs/operations.md explains.
)sh";

// Slurm starts the script, and the script's coordinator starts it for workers.
constexpr char kSlurmSettings[] = R"sh(
set -u
run_dir=@run_dir@
programs=@programs@
what=(@what@)
script=$run_dir/slurm/job.sbatch
)sh";

// Where workers may be, of one allocation.
constexpr char kSlurmPlaces[] = R"sh(
all_nodes() { scontrol show hostnames "$SLURM_JOB_NODELIST"; }

# The first node that starts a step. Slurm may take minutes to notice that a node
# is dead.
living_node() {
  local node
  for node in $(all_nodes); do
    if timeout --kill-after=2 8 srun --overlap --no-kill --nodes=1 --ntasks=1 \
      --nodelist="$node" --input=none true </dev/null >/dev/null 2>&1; then
      echo "$node"
      return
    fi
  done
}
)sh";

// The same of a heterogeneous job.
constexpr char kSlurmHetPlaces[] = R"sh(
# The nodes of component $1 of the job.
nodes_of() {
  local list=SLURM_JOB_NODELIST_HET_GROUP_$1
  scontrol show hostnames "${!list}"
}
all_nodes() { nodes_of 0 && nodes_of 1; }

# Component and name of the first node that starts a step, those of component $1
# first. Slurm may take minutes to notice that a node is dead.
living_node() {
  local group node
  for group in "$1" $((1 - $1)); do
    for node in $(nodes_of "$group"); do
      if timeout --kill-after=2 8 srun --het-group="$group" --overlap --no-kill \
        --nodes=1 --ntasks=1 --nodelist="$node" --input=none true </dev/null \
        >/dev/null 2>&1; then
        echo "$group $node"
        return
      fi
    done
  done
}
)sh";

constexpr char kSlurmStartWorker[] = R"sh(
# ROLE RANK START COMMAND...: the coordinator calls this for every start of a
# worker, and judges the worker by the exit code. A step of one task has that of
# its task. The worker's address is that of the node where it is.
start_worker() {
  local role=$1 rank=$2 start=$3@local_group@ cpus=@generator_cpus@ node
  local listen="--fleet_listen \"\$SLURMD_NODENAME:0\""
  shift 3
  if [[ $role == discriminator ]]; then
    @set_group@cpus=@discriminator_cpus@
    listen+=" --listen \"\$SLURMD_NODENAME:0\""
  fi
  local step=(--no-kill --nodes=1 --ntasks=1 --cpus-per-task="$cpus" @gpus@
    --unbuffered --input=none --job-name="$role-$rank")
  local command=(sh -c "exec \"\$@\" $listen" sh "$@")
  if ((start == 0)); then
    exec srun @group@ --exact "${step[@]}" "${command[@]}"
  fi
  # A lost rank: inside the living allocation, beside what is there.
  read -r @group_name@node < <(living_node@first_group@)
  if [[ -z $node ]]; then
    echo "no node of job $SLURM_JOB_ID starts a step for $role $rank" >&2
    exit 70
  fi
  echo "$role $rank starts on $node"
  exec srun @group@ --overlap --nodelist="$node" "${step[@]}" "${command[@]}"
}

if (($# > 0)); then
  start_worker "$@"
fi
)sh";

constexpr char kSlurmCertificates[] = R"sh(
# One certificate for all nodes of the job, which share the run folder anyway.
certificates=$run_dir/state/certificates-$SLURM_JOB_ID
rm -rf "$certificates"
mkdir -p "$run_dir/state"
others=$(all_nodes | sort -u | grep -vxF "$SLURMD_NODENAME" | paste -sd,)
"$programs/gandem" certificates "$certificates" --days 30 \
  --host "$SLURMD_NODENAME${others:+,$others}" >/dev/null || exit
trap 'rm -rf "$certificates"' EXIT
network=(--certificates "$certificates/$SLURMD_NODENAME")
)sh";

constexpr char kSlurmInsecure[] = R"sh(
network=(--insecure_network)
)sh";

constexpr char kSlurmCoordinate[] = R"sh(
newest_checkpoint() {
  find "$run_dir/checkpoints" -maxdepth 1 -name 'step-*' ! -name '*.tmp' \
    2>/dev/null | sort | tail -n 1
}
before=$(newest_checkpoint)
echo "$(date +%FT%T) job $SLURM_JOB_ID on $SLURMD_NODENAME, start" \
  "${SLURM_RESTART_COUNT:-0}"

# Slurm signals this shell alone before the time limit; scancel every process of
# the job. Both mean: a checkpoint, now.
reason=
# shellcheck disable=SC2317  # called by the traps
stop() {
  reason=$1
  kill -TERM "$coordinator" 2>/dev/null
}
trap 'stop limit' @signal@
trap 'stop cancelled' TERM
"$programs/gandem" coordinate "${what[@]}" --run_dir "$run_dir" \
  --listen "$SLURMD_NODENAME:0" "${network[@]}" --start_by "$script"@watching@ &
coordinator=$!
# A signal ends `wait`, not the coordinator.
while kill -0 "$coordinator" 2>/dev/null; do
  wait "$coordinator"
done
wait "$coordinator"
code=$?
echo "$(date +%FT%T) gandem coordinate has ended with $code"

# Stopped by the limit, and further than before: once more. Elsewhere a second
# start would end as this one did.
if [[ $code == 75 && $reason == limit ]]; then
  if [[ $(newest_checkpoint) == "$before" ]]; then
    echo "no checkpoint was made in this time: not requeued; give more --time"
  elif scontrol requeue "$SLURM_JOB_ID"; then
    echo "requeued: it goes on from $(newest_checkpoint)"
  fi
fi
exit "$code"
)sh";

void AddOption(absl::string_view name, absl::string_view value,
               std::string& text) {
  absl::StrAppend(&text, "#SBATCH --", name, value.empty() ? "" : "=", value,
                  "\n");
}

// Slurm hands on no option from one component to the next. When a node is lost,
// --no-kill saves the components of several nodes only, and the others are
// requeued to wait for them for ever: a heterogeneous job does without it.
void AddComponent(const SlurmJob& job, const SlurmFleet& fleet,
                  std::string& text) {
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
}

std::string SlurmOptions(const SlurmJob& job) {
  std::string text;
  AddOption("job-name", job.name, text);
  AddOption("comment", SlurmComment(job.run_dir), text);
  AddOption("output", absl::StrCat(job.run_dir, "/slurm/job-%j.log"), text);
  if (!job.work_dir.empty()) AddOption("chdir", job.work_dir, text);
  AddOption("open-mode", "append", text);
  AddOption("requeue", "", text);
  AddOption("signal", absl::StrCat("B:", job.signal, "@", job.signal_seconds),
            text);
  if (!job.heterogeneous) {
    const SlurmFleet& g = job.generators;
    const SlurmFleet& d = job.discriminators;
    AddComponent(job,
                 {.workers = g.workers + d.workers,
                  .cpus = std::max(g.cpus, d.cpus),
                  .most_nodes = g.most_nodes + d.most_nodes},
                 text);
    return text;
  }
  absl::StrAppend(&text, "# The generators, and the coordinator.\n");
  AddComponent(job, job.generators, text);
  absl::StrAppend(&text, "#SBATCH hetjob\n# The discriminators.\n");
  AddComponent(job, job.discriminators, text);
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
  const bool het = job.heterogeneous;
  const std::string text =
      absl::StrCat(kSlurmIntro, SlurmOptions(job), kSlurmSettings,
                   het ? kSlurmHetPlaces : kSlurmPlaces, kSlurmStartWorker,
                   job.insecure_network ? kSlurmInsecure : kSlurmCertificates,
                   kSlurmCoordinate);
  return absl::StrReplaceAll(
      text,
      {{"@run_dir@", ShellQuoted(job.run_dir)},
       {"@programs@", ShellQuoted(job.binary_folder)},
       {"@what@", absl::StrJoin(what, " ")},
       {" @group@", het ? " --het-group=\"$group\"" : ""},
       {"@local_group@", het ? " group=0" : ""},
       {"@set_group@", het ? "group=1 " : ""},
       {"@group_name@", het ? "group " : ""},
       {"@first_group@", het ? " \"$group\"" : ""},
       {"@generator_cpus@", absl::StrCat(job.generators.cpus)},
       {"@discriminator_cpus@", absl::StrCat(job.discriminators.cpus)},
       {" @gpus@", job.gpus_per_worker > 0
                       ? absl::StrCat(" --gpus-per-task=", job.gpus_per_worker)
                       : ""},
       {"@watching@", WatchingFlags(job)},
       {"@signal@", job.signal}});
}

}  // namespace gandem
