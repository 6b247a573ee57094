// SPDX-License-Identifier: Apache-2.0
//
// Command line of `gandem`. Flags name files, hosts and addresses; the recipe
// holds all hyper-parameters (style.md 3.7: a test freezes the flags).
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
  std::string recipe;  // empty: the plan's recipe
  PlanFlags plan;
  std::string run_dir;
  std::string data;               // images in place of the recipe's
  std::vector<std::string> sets;  // "path.to.field=value"
  InitialStates init = {};        // first values of the networks
  bool colocated = false;
  bool external = false;
  std::string listen;          // empty: a unix socket
  std::string start_by;        // program that starts workers on other hosts
  std::string metrics_listen;  // HOST:PORT for Prometheus; empty: no endpoint
  std::string certificates;    // empty: the run's own
  bool insecure_network = false;
  bool bind_cores = true;  // give each worker its own cores
  std::string python;      // interpreter; empty: from $VIRTUAL_ENV
  bool accept_changed_code = false;
  bool trace = false;
  std::string log_format = "text";  // or "json"
  int64_t evaluate_every = 0;       // rounds; 0: no evaluation
  std::string evaluate_cores;       // empty: the cores of the workers
  std::string evaluate_args;        // arguments of `gandem evaluate`

  // Returns whether workers may run on hosts with other hardware and files.
  bool elsewhere() const { return external || !start_by.empty(); }
};

struct StatusOptions {
  std::string run_dir;
  std::string certificates;  // empty: those given to `gandem train`
  bool json = false;
};

// `gandem watch-eval RUN_DIR ... -- ARGUMENTS OF EVALUATE`
struct WatchOptions {
  std::string run_dir;
  int64_t every = 1;  // rounds
  bool once = false;
  std::vector<std::string> evaluate_arguments;
};

// A command that evaluation_job runs, such as `gandem sample`.
struct EvaluationOptions {
  std::vector<std::string> arguments;  // the first names the command
};

enum class DatasetAction { kShow, kVerify, kPack };

// `gandem dataset show SOURCE`, `verify SOURCE` and `pack SOURCE`.
struct DatasetOptions {
  DatasetAction action = DatasetAction::kShow;
  std::string source;
  // List of images to leave out, written by `verify`; may be empty.
  std::string exclude;
  std::string member;  // data.member

  // Used by `show`. `pack` uses `output`, too, as the name of a folder.
  std::string recipe;       // its data section decides how images look
  int64_t image_size = 64;  // used without a recipe
  std::string output = "dataset.png";

  // Used by `pack`.
  int64_t shard_bytes = int64_t{1} << 28;
  int64_t resize = 0;           // 0: images are copied as they are stored
  std::string crop = "CENTER";  // or NONE
};

struct ExplainOptions {
  std::string field;  // empty: list all
};

// Help, the version or an error was printed; there is no command to run.
struct NoCommand {
  int exit_code = 0;
};

using Command = std::variant<
    NoCommand, TrainOptions, StatusOptions, ReportOptions, CompareOptions,
    WatchOptions, EvaluationOptions, DatasetOptions, SimulatePlanOptions,
    ProfileOptions, PlanOptions, TrialsOptions, LaunchSlurmOptions,
    LaunchKubernetesOptions, DoctorOptions, LogsOptions, ExplainOptions>;

// Parses the arguments. Prints help to `out` and errors to `err`.
Command ParseCommandLine(int argc, const char* const* argv, std::ostream& out,
                         std::ostream& err);

// Returns all flags and arguments, as "command --flag" and "command ARGUMENT".
std::vector<std::string> AllFlags();

}  // namespace gandem
