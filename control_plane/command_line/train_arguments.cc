// SPDX-License-Identifier: Apache-2.0
#include "control_plane/command_line/train_arguments.h"

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "common/security/credentials.h"
#include "common/trace/trace_writer.h"
#include "control_plane/command_line/argument_checks.h"

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

// A run has one recipe: a file's, or the one in a plan.
void CheckRecipeAndPlan(const TrainOptions& train) {
  const PlanFlags& flags = train.plan;
  if (flags.is_file() && !train.recipe.empty()) {
    throw CLI::ArgumentMismatch(absl::StrCat(
        "--plan ", flags.plan, " holds its recipe: leave RECIPE (",
        train.recipe, ") out, or let --plan AUTO make a plan of it"));
  }
  if (!flags.is_file() && train.recipe.empty()) {
    throw CLI::RequiredError("RECIPE");
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

}  // namespace

TrainArguments::TrainArguments(CLI::App& app)
    : command_(*app.add_subcommand("train", "Train a GAN, or go on with it")) {
  command_.footer(kTrainExamples);
  command_.add_option("RECIPE", options_.recipe,
                      "RunConfig as text proto (`gandem explain`); not with "
                      "--plan FILE, which holds one");
  AddPlan();
  AddOwnNetworks(&command_, options_.python, options_.accept_changed_code);
  command_
      .add_option("--run_dir", options_.run_dir,
                  "Folder of the run: checkpoints, samples, metrics, logs. "
                  "A run that it has goes on")
      ->required();
  command_.add_option(
      "--data", options_.data,
      "Images in place of the recipe's: a folder, a zip, tar shards, "
      "Parquet, "
      "CIFAR, IDX, npz; here, http://, https:// or s3:// (docs/data.md)");
  AddSets(&command_, "Changes a field of the recipe: path.to.field=value",
          options_.sets);
  command_.add_option("--init_generator", options_.init.generator,
                      "State dict that the generator begins with: "
                      "safetensors, or a file of torch.save() [drawn values]");
  command_.add_option("--init_discriminator", options_.init.discriminator,
                      "The same of the discriminator");
  command_.add_flag("--colocated", options_.colocated,
                    "Train both networks in one process");
  command_.add_flag("--external", options_.external,
                    "Wait for workers that are started by hand, start none");
  command_.add_option(
      "--listen", options_.listen,
      "HOST:PORT for workers to connect to, in place of a unix socket");
  AddMetricsListen(&command_, options_.metrics_listen);
  CLI::Option* const certificates = command_.add_option(
      "--certificates", options_.certificates, kCertificatesHelp);
  command_
      .add_flag("--insecure_network", options_.insecure_network,
                kInsecureNetworkHelp)
      ->excludes(certificates);
  command_.add_flag(
      "--trace", options_.trace,
      absl::StrCat("Write a timeline of each worker to RUN_DIR/trace, for "
                   "ui.perfetto.dev; at most ",
                   kMaxTraceBytes >> 20, " MiB a file"));
  AddLogFormat(&command_, options_.log_format);
  command_
      .add_option("--bind_cores", bind_cores_,
                  "auto: each worker runs on cores of its own, if there are "
                  "enough; none: the operating system places them")
      ->check(CLI::IsMember({"auto", "none"}))
      ->capture_default_str();
  command_
      .add_option("--evaluate_every", options_.evaluate_every,
                  "Judge a checkpoint every so many rounds, beside the "
                  "training (`gandem watch-eval`)")
      ->check(AtLeastOne());
  command_.add_option(
      "--evaluate_cores", options_.evaluate_cores,
      "Cores for that alone, as in 0-3,6 [those that the training uses, at "
      "low priority]");
  command_.add_option("--evaluate_args", options_.evaluate_args,
                      "Arguments of `gandem evaluate`, in quotes");
}

void TrainArguments::AddPlan() {
  CLI::Option* const plan = command_.add_option(
      "--plan", options_.plan.plan,
      "Run as `gandem plan` has found best: its file; or AUTO, to measure "
      "and plan now");
  command_
      .add_option("--candidate", options_.plan.candidate,
                  "Which of the plan's candidates")
      ->check(AtLeastOne())
      ->needs(plan)
      ->capture_default_str();
  AddMachines(&command_, options_.plan.machines);
}

std::optional<TrainOptions> TrainArguments::Given() const {
  if (!command_.parsed()) return std::nullopt;
  CheckRecipeAndPlan(options_);
  TrainOptions given = options_;
  given.bind_cores = bind_cores_ == "auto";
  return given;
}

}  // namespace gandem
