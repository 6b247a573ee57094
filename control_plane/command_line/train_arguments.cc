// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/trace/trace_writer.h"
#include "control_plane/command_line/argument_checks.h"
#include "control_plane/command_line/command_arguments.h"

namespace gandem {
namespace {

constexpr char kTrainExamples[] =
    "Ctrl-C writes a checkpoint and exits; the same command resumes from it.\n"
    "A second Ctrl-C, at least one second later, exits at once.\n"
    "\n"
    "Exit codes: 0 all rounds are done, 2 bad usage or config, 3 diverged,\n"
    "70 failed, 75 stopped but resumable, 130 exited at once.\n"
    "\n"
    "Examples:\n"
    "  gandem train recipes/fashion_mnist_dcgan.textproto --run_dir runs/a\n"
    "  gandem train recipes/fashion_mnist_dcgan.textproto --run_dir runs/b \\\n"
    "      --set rounds=200 --set schedule.lag=0\n"
    "  gandem train recipes/dcgan_64.textproto --run_dir runs/p --data photos\n"
    "  gandem train recipes/mlp_smoke.textproto --run_dir runs/c --colocated\n"
    "  gandem train recipes/fashion_mnist_dcgan.textproto --run_dir runs/d \\\n"
    "      --evaluate_every 1000 --evaluate_args \"--num 10000\"\n"
    "  gandem train --plan plan.textproto --run_dir runs/e\n"
    "  gandem train recipes/dcgan_64.textproto --run_dir runs/f --plan AUTO\n";

constexpr char kCoordinateExamples[] =
    "Coordinates a run whose workers are on other hosts\n"
    "(docs/how_to/several_hosts.md). Exit codes and Ctrl-C are those of "
    "`gandem train`.\n"
    "\n"
    "Examples:\n"
    "  gandem coordinate recipes/mlp_smoke.textproto --run_dir /nfs/a \\\n"
    "      --listen alpha:7000\n"
    "  gandem coordinate recipes/mlp_smoke.textproto --run_dir /nfs/a \\\n"
    "      --listen alpha:7000 --start_by ./by_ssh.sh\n";

// Requires the recipe in exactly one place: RECIPE or a plan file.
void CheckRecipeAndPlan(const TrainOptions& train) {
  const PlanFlags& flags = train.plan;
  if (flags.is_file() && !train.recipe.empty()) {
    throw CLI::ArgumentMismatch(absl::StrCat(
        "--plan ", flags.plan, " holds its recipe: leave RECIPE (",
        train.recipe, ") out, or let --plan AUTO make a plan of it"));
  }
  if (!flags.is_file() && train.recipe.empty()) {
    throw CLI::RequiredError("RECIPE or --plan");
  }
  const MachineOptions& machines = flags.machines;
  if (!flags.is_auto() &&
      (machines.devices != 0 || !machines.hosts.empty() ||
       !machines.memory.empty() || !machines.link.empty())) {
    throw CLI::ArgumentMismatch(
        "--devices, --hosts, --memory and --link need --plan AUTO; a plan file "
        "names its own machines");
  }
}

// Adds the options that `train` and `coordinate` share.
void AddRun(CLI::App* command, const std::string& run_dir_help,
            TrainOptions& options) {
  command->add_option(
      "RECIPE", options.recipe,
      "Recipe: a RunConfig as text proto (`gandem explain` lists the fields). "
      "Omit it with --plan FILE, which contains one");
  AddCandidate(command,
               command->add_option("--plan", options.plan.plan,
                                   "Plan file written by `gandem plan`, or "
                                   "AUTO to profile this machine and plan now"),
               options.plan.candidate);
  command->add_option("--run_dir", options.run_dir, run_dir_help)->required();
  AddData(command, options.data);
  AddSets(command, kSetsHelp, options.sets);
  AddOwnNetworks(command, options.python, options.accept_changed_code);
  command->add_option(
      "--metrics_listen", options.metrics_listen,
      absl::StrCat("HOST:PORT where ", kPrometheusHelp,
                   ", for example 127.0.0.1:9400; port 0 picks a free port"));
  AddCertificates(command, options.certificates, options.insecure_network);
  command->add_flag("--trace", options.trace,
                    absl::StrCat("Write a timeline of each worker to "
                                 "RUN_DIR/trace, for ui.perfetto.dev: at most ",
                                 kMaxTraceBytes >> 20, " MiB per file"));
  AddLogFormat(command, options.log_format);
}

void AddEvaluation(CLI::App* command, TrainOptions& options) {
  command
      ->add_option(
          "--evaluate_every", options.evaluate_every,
          "Evaluate a checkpoint every this many rounds while the run trains, "
          "as `gandem watch-eval` does (default: no evaluation)")
      ->check(AtLeastOne());
  command->add_option("--evaluate_cores", options.evaluate_cores,
                      "Cores reserved for evaluation, for example 0-3,6 "
                      "(default: the workers' cores, at low priority)");
  command->add_option("--evaluate_args", options.evaluate_args,
                      "Arguments of `gandem evaluate` for --evaluate_every, in "
                      "quotes, for example \"--num 10000\"");
}

}  // namespace

CLI::App* AddTrain(CLI::App& app, TrainOptions& options) {
  CLI::App* const command =
      app.add_subcommand("train", "Train a GAN, or resume a run");
  command->footer(kTrainExamples);
  AddRun(command,
         "Run directory (checkpoints, samples, metrics, logs). An existing run "
         "is resumed",
         options);
  AddMachines(command, options.plan.machines);
  command->add_option(
      "--init_generator", options.init.generator,
      "State dict to initialize the generator with: safetensors, or a file of "
      "torch.save() (default: random values from the seed)");
  command->add_option(
      "--init_discriminator", options.init.discriminator,
      "State dict to initialize the discriminator with: safetensors, or a file "
      "of torch.save() (default: random values from the seed)");
  command->add_flag("--colocated", options.colocated,
                    "Train both networks in one process");
  command->add_flag(
      "--external", options.external,
      "Start no workers; wait for workers that you start by hand");
  command->add_option(
      "--listen", options.listen,
      "HOST:PORT for workers to connect to (default: a unix socket)");
  command
      ->add_option_function<std::string>(
          "--bind_cores",
          [&options](const std::string& how) {
            options.bind_cores = how == "auto";
          },
          "Placement of workers on cores. auto: each worker gets its own cores "
          "if there are enough; none: the operating system decides")
      ->check(CLI::IsMember({"auto", "none"}))
      ->default_str("auto");
  AddEvaluation(command, options);
  command->callback([&options] { CheckRecipeAndPlan(options); });
  return command;
}

CLI::App* AddCoordinate(CLI::App& app, TrainOptions& options) {
  CLI::App* const command = app.add_subcommand(
      "coordinate", "Train a GAN with workers on other hosts");
  command->footer(kCoordinateExamples);
  AddRun(command,
         "Run directory on a file system that all hosts share. An existing run "
         "is resumed",
         options);
  command
      ->add_option(
          "--listen", options.listen,
          "HOST:PORT for workers to connect to; port 0 picks a free port")
      ->required();
  command->add_option(
      "--start_by", options.start_by,
      "Program that starts a worker on its host, called with ROLE RANK START "
      "COMMAND... (default: you start the workers by hand)");
  command->callback([&options] {
    if (options.plan.is_auto()) {
      throw CLI::ArgumentMismatch(
          "--plan AUTO measures only this machine, and the workers run on "
          "other hosts. Make a plan with `gandem plan --hosts` and pass its "
          "file to --plan");
    }
    CheckRecipeAndPlan(options);
    options.external = options.start_by.empty();
  });
  return command;
}

}  // namespace gandem
