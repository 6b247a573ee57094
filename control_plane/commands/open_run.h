// SPDX-License-Identifier: Apache-2.0
//
// What has to hold before a run folder may be trained in: it is writable,
// nobody else uses it, its checkpoints belong to the same config, and the
// dataset can be read.
//
// Owner: `gandem train`, and `gandem doctor` for the checks. Thread safety: one
// thread. Errors: each says what the user can do.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/run_config.h"
#include "common/programs/worker_program.h"
#include "common/results/run_folder.h"
#include "control_plane/command_line/command_line.h"
#include "control_plane/coordinator/coordinator.h"
#include "proto/plan.pb.h"
#include "scaling_manager/planner_commands/plan_command.h"

namespace gandem {

// The compute threads of each worker.
using ThreadsByWorker = std::map<WorkerKey, int>;

struct RunSetup {
  RunLock lock;
  std::string run_dir;  // absolute; its config.textproto is the effective one
  EffectiveRunConfig config;
  bool begins = true;                 // there is no checkpoint yet
  std::string dataset_contents = {};  // to be recorded; "": nothing is
  WorkerProgram program;
  Coordinator::Options coordinator;
  ThreadsByWorker threads;
  std::vector<int> evaluate_cores;  // empty: evaluations have none of their own
  // Its first candidate is what is run; none: the recipe as it stands.
  std::optional<Plan> plan;
  // For the user: the plan, on how the run resumes, and what --set drops.
  std::vector<std::string> notices;
};

// Checks all that can be checked before workers start. Writes nothing into the
// folder but its lock; makes the folder if there is none.
//   INVALID_ARGUMENT     the recipe, flags that do not fit each other, or a
//                        folder whose path is not UTF-8.
//   those of CheckDataset (run_dataset.h).
//   those of files of users' networks (programs/own_networks.h) and of what
//   runs them (programs/worker_program.h).
//   those of plans (planner_commands/plan_command.h).
//   ALREADY_EXISTS       another `gandem train` uses the folder.
//   FAILED_PRECONDITION  its checkpoints are of another config; lists the
//                        fields that differ; or have more rounds. Or a file
//                        is where the run needs a folder.
//   DATA_LOSS            all its checkpoints are damaged.
//   the file's error     the folder cannot be written.
// `measure` is for --plan AUTO.
absl::StatusOr<RunSetup> CheckRun(const TrainOptions& options,
                                  const ProfileMaker& measure = {});

// Checks the run, then writes what its workers read. Errors: those of CheckRun,
// and CANCELLED where a signal came meanwhile.
absl::StatusOr<RunSetup> PrepareRun(const TrainOptions& options,
                                    const ProfileMaker& measure = {});

}  // namespace gandem
