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
  bool begins = true;                 // there is no checkpoint yet
  std::string dataset_contents = {};  // hashes to record; may be empty
  WorkerProgram program;
  Coordinator::Options coordinator;
  ThreadsByWorker threads;
  std::vector<int> evaluate_cores;  // reserved for evaluations
  std::optional<Plan> plan;         // its first candidate is run
  // Lines for the user about the plan, the dataset and the resume.
  std::vector<std::string> notices;
};

// Checks everything that can be checked before workers start. Creates the
// folder if needed and writes only its lock into it.
//   INVALID_ARGUMENT     a faulty recipe, conflicting flags, or a folder whose
//                        path is not UTF-8.
//   the errors of CheckDataset (run_dataset.h), of users' networks
//   (programs/own_networks.h, programs/worker_program.h) and of plans
//   (planner_commands/plan_command.h).
//   ALREADY_EXISTS       another `gandem train` uses the folder.
//   FAILED_PRECONDITION  its checkpoints have another config (lists the fields
//                        that differ) or more rounds, or a file is in the place
//                        of a folder.
//   DATA_LOSS            all its checkpoints are damaged.
//   the file's error     the folder cannot be written.
// `measure` makes the profile for --plan AUTO.
absl::StatusOr<RunSetup> CheckRun(const TrainOptions& options,
                                  const ProfileMaker& measure = {});

// Checks the run, then writes the files that its workers read. Errors: those of
// CheckRun, and CANCELLED if a signal arrives meanwhile.
absl::StatusOr<RunSetup> PrepareRun(const TrainOptions& options,
                                    const ProfileMaker& measure = {});

}  // namespace gandem
