// SPDX-License-Identifier: Apache-2.0
//
// The command line of `gandem`. Flags say who and where, never how to train:
// that is the recipe's (style.md 3.7: a test freezes the list).
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <variant>
#include <vector>

#include "common/checkpoint/initial_state.h"
#include "control_plane/deploy_commands/launch_kubernetes.h"
#include "control_plane/deploy_commands/launch_slurm.h"
#include "control_plane/doctor/doctor.h"
#include "control_plane/logs/logs_command.h"
#include "control_plane/reports/compare_command.h"
#include "control_plane/reports/report_command.h"
#include "scaling_manager/planner_commands/plan_options.h"
#include "scaling_manager/planner_commands/simulate_plan_command.h"
#include "scaling_manager/planner_commands/trials_command.h"

namespace gandem {

struct TrainOptions {
  std::string recipe;  // empty: that of the plan
  PlanFlags plan;
  std::string run_dir;
  std::string
      data;  // of any kind, in place of the recipe's; empty: the recipe's
  std::vector<std::string> sets;  // "path.to.field=value"
  InitialStates init = {};        // that the networks begin with
  bool colocated = false;
  bool external = false;
  std::string listen;          // empty: a unix socket
  std::string start_by;        // a program that starts workers on other hosts
  std::string metrics_listen;  // for Prometheus; empty: nowhere
  std::string certificates;    // empty: the run's
  bool insecure_network = false;
  bool bind_cores = true;  // each worker to its own
  std::string python;  // for networks of the user's own; empty: $VIRTUAL_ENV
  bool accept_changed_code = false;
  bool trace = false;
  std::string log_format = "text";  // or "json"
  int64_t evaluate_every = 0;       // rounds; 0: no evaluation
  std::string evaluate_cores;       // empty: those of the training
  std::string evaluate_args;        // for `gandem evaluate`

  // Workers may be on hosts that have what this one has not.
  bool elsewhere() const { return external || !start_by.empty(); }
};

struct StatusOptions {
  std::string run_dir;
  std::string certificates;  // empty: those that `gandem train` was given
  bool json = false;
};

// `gandem watch-eval RUN_DIR ... -- ARGUMENTS OF EVALUATE`
struct WatchOptions {
  std::string run_dir;
  int64_t every = 1;  // rounds
  bool once = false;
  std::vector<std::string> evaluate_arguments;
};

// `gandem sample ...` and the like: what evaluation_job gets to see.
struct EvaluationOptions {
  std::vector<std::string> arguments;  // the command is the first
};

enum class DatasetAction { kShow, kVerify, kPack };

// `gandem dataset show SOURCE`, `verify SOURCE` and `pack SOURCE`.
struct DatasetOptions {
  DatasetAction action = DatasetAction::kShow;
  std::string source;
  // A list of images to leave out, which verify writes; empty: none.
  std::string exclude;
  std::string member;  // data.member
  // Of show.
  std::string recipe;       // whose data section says what training sees
  int64_t image_size = 64;  // where there is no recipe
  std::string output = "dataset.png";  // of pack: a folder
  // Of pack.
  int64_t shard_bytes = int64_t{1} << 28;
  int64_t resize = 0;           // 0: images are copied as they are stored
  std::string crop = "CENTER";  // or NONE
};

struct ExplainOptions {
  std::string field;  // empty: list all
};

// Nothing is left to do: help or version was printed, or an error.
struct NoCommand {
  int exit_code = 0;
};

using Command = std::variant<
    NoCommand, TrainOptions, StatusOptions, ReportOptions, CompareOptions,
    WatchOptions, EvaluationOptions, DatasetOptions, SimulatePlanOptions,
    ProfileOptions, PlanOptions, TrialsOptions, LaunchSlurmOptions,
    LaunchKubernetesOptions, DoctorOptions, LogsOptions, ExplainOptions>;

// Help goes to `out`, errors to `err`.
Command ParseCommandLine(int argc, const char* const* argv, std::ostream& out,
                         std::ostream& err);

// "command --flag" and "command ARGUMENT" of everything that can be given.
std::vector<std::string> AllFlags();

}  // namespace gandem
