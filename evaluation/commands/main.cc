// SPDX-License-Identifier: Apache-2.0
//
// evaluation_job: `gandem sample`, `gandem models` and the like run it with the
// same arguments.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "absl/strings/str_format.h"
#include "common/process/exit_code.h"
#include "common/process/failpoint.h"
#include "common/process/signals.h"
#include "common/process/standard_streams.h"
#include "evaluation/commands/command_lines.h"
#include "evaluation/commands/models_command.h"
#include "evaluation/commands/train_features_command.h"

int main(int argc, char** argv) {
  gandem::OpenStandardStreams();
  gandem::IgnoreFileSizeSignal();
  const absl::Status armed = gandem::ArmFailpointFromEnvironment("evaluation");
  if (!armed.ok()) {
    absl::FPrintF(stderr, "evaluation_job: %s\n", armed.message());
    return gandem::ExitCodeOf(armed);
  }
  // What the user typed, so that its help and errors show that.
  CLI::App app("Judges what a run has made.", "gandem");
  app.require_subcommand(1);
  int exit_code = gandem::kExitOk;
  gandem::AddSampleCommand(app, exit_code);
  gandem::AddEvaluateCommand(app, exit_code);
  gandem::AddExtractCommand(app, exit_code);
  gandem::AddTrainFeaturesCommand(app, exit_code);
  gandem::AddModelsCommand(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? gandem::kExitOk : gandem::kExitUsage;
  }
  return exit_code;
}
