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
    "Ctrl-C writes a checkpoint and leaves; the same command goes on from it.\n"
    "A second Ctrl-C, a second later or more, leaves at once.\n"
    "\n"
    "Exit codes: 0 all rounds are done, 2 bad usage or config, 3 diverged, 75\n"
    "stopped but resumable, 70 failed, 130 left at once.\n"
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
    "Watches a run whose workers are on other hosts "
    "(docs/how_to/several_hosts.md). "
    "Exit\n"
    "codes and Ctrl-C are those of `gandem train`.\n"
    "\n"
    "Examples:\n"
    "  gandem coordinate recipes/mlp_smoke.textproto --run_dir /nfs/a \\\n"
    "      --listen alpha:7000\n"
    "  gandem coordinate recipes/mlp_smoke.textproto --run_dir /nfs/a \\\n"
    "      --listen alpha:7000 --start_by ./by_ssh.sh\n";

// A run has one recipe: a file's, or the one in a plan.
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
        "--devices, --hosts, --memory and --link go with --plan AUTO; a plan's "
        "file says what it is for");
  }
}

// Options of a run, wherever its workers are.
void AddRun(CLI::App* command, const std::string& run_dir_help,
            TrainOptions& options) {
  command->add_option("RECIPE", options.recipe,
                      "RunConfig as text proto (`gandem explain`); not with "
                      "--plan FILE, which holds one");
  AddCandidate(
      command,
      command->add_option("--plan", options.plan.plan,
                          "Plan file written by `gandem plan`, or AUTO to "
                          "profile this machine and plan now"),
      options.plan.candidate);
  command->add_option("--run_dir", options.run_dir, run_dir_help)->required();
  AddData(command, options.data);
  AddSets(command, kSetsHelp, options.sets);
  AddOwnNetworks(command, options.python, options.accept_changed_code);
  command->add_option("--metrics_listen", options.metrics_listen,
                      absl::StrCat("HOST:PORT where ", kPrometheusHelp,
                                   ", as in 127.0.0.1:9400; port 0: any"));
  AddCertificates(command, options.certificates, options.insecure_network);
  command->add_flag(
      "--trace", options.trace,
      absl::StrCat("Write a timeline of each worker to RUN_DIR/trace, for "
                   "ui.perfetto.dev; at most ",
                   kMaxTraceBytes >> 20, " MiB a file"));
  AddLogFormat(command, options.log_format);
}

void AddEvaluation(CLI::App* command, TrainOptions& options) {
  command
      ->add_option("--evaluate_every", options.evaluate_every,
                   "Judge a checkpoint every so many rounds, beside the "
                   "training (`gandem watch-eval`)")
      ->check(AtLeastOne());
  command->add_option(
      "--evaluate_cores", options.evaluate_cores,
      "Cores for that alone, as in 0-3,6 [those that the training uses, at "
      "low priority]");
  command->add_option("--evaluate_args", options.evaluate_args,
                      "Arguments of `gandem evaluate`, in quotes");
}

}  // namespace

CLI::App* AddTrain(CLI::App& app, TrainOptions& options) {
  CLI::App* const command =
      app.add_subcommand("train", "Train a GAN, or resume a run");
  command->footer(kTrainExamples);
  AddRun(command,
         "Folder of the run: checkpoints, samples, metrics, logs. An existing "
         "run is resumed",
         options);
  AddMachines(command, options.plan.machines);
  command->add_option("--init_generator", options.init.generator,
                      "State dict that the generator begins with: "
                      "safetensors, or a file of torch.save() [drawn values]");
  command->add_option("--init_discriminator", options.init.discriminator,
                      "State dict that the discriminator begins with");
  command->add_flag("--colocated", options.colocated,
                    "Train both networks in one process");
  command->add_flag("--external", options.external,
                    "Wait for workers that are started by hand, start none");
  command->add_option(
      "--listen", options.listen,
      "HOST:PORT for workers to connect to, in place of a unix socket");
  command
      ->add_option_function<std::string>(
          "--bind_cores",
          [&options](const std::string& how) {
            options.bind_cores = how == "auto";
          },
          "auto: each worker runs on cores of its own, if there are enough; "
          "none: the operating system places them")
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
         "Folder of the run, which all hosts see. An existing run is resumed",
         options);
  command
      ->add_option("--listen", options.listen,
                   "HOST:PORT for workers to connect to; port 0: any")
      ->required();
  command->add_option(
      "--start_by", options.start_by,
      "Program that starts a worker where it belongs, called with ROLE RANK "
      "START COMMAND...; without it workers are started by hand");
  command->callback([&options] {
    if (options.plan.is_auto()) {
      throw CLI::ArgumentMismatch(
          "--plan AUTO measures this machine, and workers are elsewhere: make "
          "a plan with `gandem plan --hosts` and name its file");
    }
    CheckRecipeAndPlan(options);
    options.external = options.start_by.empty();
  });
  return command;
}

}  // namespace gandem
