// SPDX-License-Identifier: Apache-2.0
#include "control_plane/command_line/coordinate_arguments.h"

#include <CLI/CLI.hpp>

#include "common/security/credentials.h"
#include "control_plane/command_line/argument_checks.h"

namespace gandem {
namespace {

constexpr char kCoordinateExamples[] =
    "Watches a run whose workers are on other hosts (docs/operations.md). "
    "Exit\n"
    "codes and Ctrl-C are those of `gandem train`.\n"
    "\n"
    "Examples:\n"
    "  gandem coordinate recipes/mlp_smoke.textproto --run_dir /nfs/a \\\n"
    "      --listen alpha:7000\n"
    "  gandem coordinate recipes/mlp_smoke.textproto --run_dir /nfs/a \\\n"
    "      --listen alpha:7000 --start_by ./by_ssh.sh\n";

}  // namespace

CoordinateArguments::CoordinateArguments(CLI::App& app)
    : command_(*app.add_subcommand("coordinate",
                                   "Train a GAN with workers on other hosts")) {
  command_.footer(kCoordinateExamples);
  CLI::Option* const recipe = command_.add_option(
      "RECIPE", options_.recipe, "RunConfig as text proto; not with --plan");
  CLI::Option* const plan =
      command_.add_option("--plan", options_.plan.plan,
                          "Run as `gandem plan` has found best: its file");
  plan->excludes(recipe);
  command_
      .add_option("--candidate", options_.plan.candidate,
                  "Which of the plan's candidates")
      ->check(AtLeastOne())
      ->needs(plan)
      ->capture_default_str();
  command_
      .add_option("--run_dir", options_.run_dir,
                  "Folder of the run, which all hosts see. A run that it has "
                  "goes on")
      ->required();
  command_
      .add_option("--listen", options_.listen,
                  "HOST:PORT for workers to connect to; port 0: any")
      ->required();
  command_.add_option(
      "--start_by", options_.start_by,
      "Program that starts a worker where it belongs, called with ROLE RANK "
      "START COMMAND...; without it workers are started by hand");
  AddMetricsListen(&command_, options_.metrics_listen);
  command_.add_option("--data", options_.data,
                      "Images in place of the recipe's (docs/data.md)");
  AddSets(&command_, "Changes a field of the recipe: path.to.field=value",
          options_.sets);
  AddOwnNetworks(&command_, options_.python, options_.accept_changed_code);
  CLI::Option* const certificates = command_.add_option(
      "--certificates", options_.certificates, kCertificatesHelp);
  command_
      .add_flag("--insecure_network", options_.insecure_network,
                kInsecureNetworkHelp)
      ->excludes(certificates);
  command_.add_flag("--trace", options_.trace,
                    "Write a timeline of each worker to RUN_DIR/trace");
  AddLogFormat(&command_, options_.log_format);
}

std::optional<TrainOptions> CoordinateArguments::Given() const {
  if (!command_.parsed()) return std::nullopt;
  TrainOptions given = options_;
  if (given.recipe.empty() && given.plan.plan.empty()) {
    throw CLI::RequiredError("RECIPE or --plan");
  }
  if (given.plan.is_auto()) {
    throw CLI::ArgumentMismatch(
        "--plan AUTO measures this machine, and workers are elsewhere: make a "
        "plan with `gandem plan --hosts` and name its file");
  }
  given.external = given.start_by.empty();
  return given;
}

}  // namespace gandem
