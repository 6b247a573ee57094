// SPDX-License-Identifier: Apache-2.0
#include "evaluation/commands/evaluation_main.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "absl/strings/str_format.h"
#include "common/files/nearest.h"
#include "common/matrix_tiles.h"
#include "common/process/exit_code.h"
#include "common/process/failpoint.h"
#include "common/process/process_start.h"
#include "common/process/signals.h"
#include "common/process/wrapped_help.h"
#include "evaluation/commands/command_lines.h"
#include "evaluation/commands/export_command.h"
#include "evaluation/commands/models_command.h"
#include "evaluation/commands/train_features_command.h"

namespace gandem {

int EvaluationMain(int argc, char** argv) {
  PrepareProcess();
  HideTilesWithoutSize();
  const absl::Status armed = ArmFailpointFromEnvironment("evaluation");
  if (!armed.ok()) {
    absl::FPrintF(stderr, "evaluation_job: %s\n", armed.message());
    return ExitCodeOf(armed);
  }
  // Shows the name that the user typed in help and errors.
  CLI::App app("Evaluates the generators and images of runs.", "gandem");
  app.formatter(std::make_shared<WrappedHelp>());
  app.require_subcommand(1);
  int exit_code = kExitOk;
  AddSampleCommand(app, exit_code);
  AddEvaluateCommand(app, exit_code);
  AddExportCommand(app, exit_code);
  AddTrainFeaturesCommand(app, exit_code);
  AddModelsCommand(app, exit_code);
  RefuseEmptyValues(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const std::string no_flag =
        error.get_exit_code() == 0
            ? ""
            : WhyNoFlagOf<CLI::App>(app, {argv, static_cast<size_t>(argc)});
    if (no_flag.empty()) return app.exit(error) == 0 ? kExitOk : kExitUsage;
    absl::FPrintF(stderr, "%s\n", no_flag);
    return kExitUsage;
  }
  return exit_code;
}

}  // namespace gandem
