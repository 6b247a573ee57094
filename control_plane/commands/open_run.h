// SPDX-License-Identifier: Apache-2.0
//
// Opens a run folder for training: checks that it is writable and unused, that
// its checkpoints belong to the same config, and that the dataset is readable.
//
// Owner: `gandem train`, and `gandem doctor` for the checks. Thread safety: one
// thread. Errors: each message says what the user can do.
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

// Number of compute threads by worker.
using ThreadsByWorker = std::map<WorkerKey, int>;

struct RunSetup {
  RunLock lock;
  std::string run_dir;  // absolute path
  EffectiveRunConfig config;
  bool begins = true;                 // the folder has no checkpoint yet
  std::string dataset_contents = {};  // hashes to record; may be empty
  WorkerProgram program;
  Coordinator::Options coordinator;
  ThreadsByWorker threads;
  std::vector<int> evaluate_cores;  // reserved for evaluations
  std::optional<Plan> plan;         // the run follows its first candidate
  // Messages about the plan, the dataset and the resume.
  std::vector<std::string> notices;
};

// Checks everything that can be checked before workers start. Creates the
// folder if needed and writes only a lock file into it. `measure` makes the
// profile for --plan AUTO. Returns errors of CheckDataset (run_dataset.h), of
// users' networks (programs/own_networks.h, programs/worker_program.h), of
// plans (planner_commands/plan_command.h), of writing to the folder, and
//   INVALID_ARGUMENT  faulty recipe, conflicting flags, or a path that is not
//       UTF-8
//   ALREADY_EXISTS  another `gandem train` uses the folder
//   FAILED_PRECONDITION  the checkpoints have another config (lists the fields
//       that differ) or more rounds, or a file is in the place of a folder
//   DATA_LOSS  all checkpoints are damaged
absl::StatusOr<RunSetup> CheckRun(const TrainOptions& options,
                                  const ProfileMaker& measure = {});

// Runs CheckRun() and writes the files that workers read. Returns the errors of
// CheckRun(), and CANCELLED if a signal arrives meanwhile.
absl::StatusOr<RunSetup> PrepareRun(const TrainOptions& options,
                                    const ProfileMaker& measure = {});

}  // namespace gandem
