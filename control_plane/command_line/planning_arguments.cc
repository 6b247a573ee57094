// SPDX-License-Identifier: Apache-2.0
#include "control_plane/command_line/planning_arguments.h"

#include <CLI/CLI.hpp>

#include "control_plane/command_line/argument_checks.h"

namespace gandem {
namespace {

constexpr char kProfileExamples[] =
    "The same command resumes an interrupted measurement. docs/planning.md "
    "explains\n"
    "what is measured and how plans use it.\n"
    "\n"
    "Examples:\n"
    "  gandem profile recipes/fashion_mnist_sngan.textproto\n"
    "  gandem profile recipes/sngan_64.textproto -o s.textproto --data photos "
    "\\\n"
    "      --budget 10m --memory 8GiB\n";

constexpr char kPlanExamples[] =
    "Needs a profile of the recipe (`gandem profile`). docs/planning.md "
    "explains\n"
    "the table and the file of hosts.\n"
    "\n"
    "Examples:\n"
    "  gandem plan recipes/fashion_mnist_sngan.textproto -o plan.textproto\n"
    "  gandem plan recipes/dcgan_64.textproto --data photos --devices 8 \\\n"
    "      --link 25Gbit,20ms\n"
    "  gandem plan recipes/dcgan_64.textproto --hosts hosts.textproto \\\n"
    "      --memory 40GiB --objective throughput\n"
    "  gandem plan recipes/dcgan_64.textproto --as_it_is \\\n"
    "      --set schedule.feedback=SNAPSHOT --set schedule.lag=2\n";

constexpr char kSimulateExamples[] =
    "docs/cost_model.md explains the tables and what they leave out.\n"
    "\n"
    "Example:\n"
    "  gandem simulate plan.textproto --devices 1..1024\n";

constexpr char kTrialsExamples[] =
    "Arguments after -- go to `gandem evaluate` (default: --num 2000). The "
    "same\n"
    "command resumes an interrupted study. docs/trials.md explains the "
    "decisions.\n"
    "\n"
    "Example:\n"
    "  gandem trials recipes/fashion_mnist_sngan.textproto -o trials/a \\\n"
    "      --trials 8 --trial_hours 2\n";

}  // namespace

PlanningArguments::PlanningArguments(CLI::App& app) {
  AddProfile(app);
  AddPlan(app);
  AddSimulate(app);
  AddTrials(app);
}

void PlanningArguments::AddProfile(CLI::App& app) {
  profile_command_ = app.add_subcommand(
      "profile", "Measure the networks of a recipe on this machine");
  profile_command_->footer(kProfileExamples);
  profile_command_->add_option("RECIPE", profile_.recipe, kRecipeHelp)
      ->required();
  profile_command_
      ->add_option("-o,--output", profile_.output,
                   "Profile to write, as text proto")
      ->capture_default_str();
  profile_command_->add_option(
      "--data", profile_.data,
      "Images to measure decoding with, in place of the recipe's");
  AddSets(profile_command_, kSetsHelp, profile_.sets);
  profile_command_
      ->add_option("--budget", profile_.budget,
                   "Time limit for all measurements, for example 90s or 5m")
      ->capture_default_str();
  profile_command_->add_option("--memory", profile_.memory,
                               "Memory limit of a measurement, for example "
                               "8GiB (default: most of the free memory)");
  AddPython(profile_command_, profile_.python);
  profile_command_->add_flag(
      "--fresh", profile_.fresh,
      "Ignore results in the output file and in the cache, and measure again");
}

void PlanningArguments::AddPlan(CLI::App& app) {
  plan_command_ = app.add_subcommand(
      "plan",
      "Find the fastest batch sizes, worker counts and placement for a recipe");
  plan_command_->footer(kPlanExamples);
  plan_command_->add_option("RECIPE", plan_.recipe, kRecipeHelp)->required();
  plan_command_->add_option("--data", plan_.data,
                            "Images to train on in place of the recipe's");
  AddSets(plan_command_, kSetsHelp, plan_.sets);
  AddMachines(plan_command_, plan_.machines);
  plan_command_
      ->add_option(
          "--objective", plan_.objective,
          "Objective of the plan: time_to_quality, throughput or memory")
      ->check(CLI::IsMember({"time_to_quality", "throughput", "memory"}))
      ->capture_default_str();
  plan_command_->add_option(
      "--profile", plan_.profile,
      "Profile of the recipe (default: the one in the cache)");
  plan_command_
      ->add_option("--lag", plan_.lag,
                   "Lags to consider, in rounds, for example 0..4 or 1")
      ->capture_default_str();
  plan_command_
      ->add_option("--max_batch", plan_.max_batch,
                   "Largest batch per role to consider, for example the "
                   "gradient noise scale")
      ->check(AtLeastOne());
  plan_command_->add_option("--noise_of", plan_.noise_of,
                            "Run directory with measured gradient noise "
                            "scales, which bound the batch sizes");
  plan_command_->add_flag("--ignore_machine", plan_.ignore_machine,
                          "Accept a profile of another machine: plan for that "
                          "machine, or for hosts whose speed is given");
  CLI::Option* const as_it_is = plan_command_->add_flag(
      "--as_it_is", plan_.as_it_is,
      "Predict the speed and memory of the recipe as it is, without a search");
  for (const char* const other : {"--lag", "--objective", "--max_batch"}) {
    as_it_is->excludes(plan_command_->get_option(other));
  }
  plan_command_
      ->add_flag("--colocated", plan_.colocated,
                 "Predict both networks in one process (with --as_it_is)")
      ->needs(as_it_is);
  plan_command_->add_option(
      "-o,--output", plan_.output,
      "Plan file to write (default: plan.textproto; with --as_it_is none)");
}

void PlanningArguments::AddSimulate(CLI::App& app) {
  simulate_command_ =
      app.add_subcommand("simulate", "Predict a plan's speed on more devices");
  simulate_command_->footer(kSimulateExamples);
  CLI::App& command = *simulate_command_;
  command
      .add_option("PLAN", simulate_.plan,
                  "Plan file written by `gandem plan`; its first candidate is "
                  "simulated")
      ->required();
  command.add_option(
      "--profile", simulate_.profile,
      "Profile that the plan was made from (default: profile.textproto beside "
      "the plan, or the one in the cache)");
  command
      .add_option(
          "--devices", simulate_.devices,
          "Numbers of workers, for example 8,64 or 1..1024 (1, 2, 4, ... 1024)")
      ->capture_default_str();
  command
      .add_option("--jitter", simulate_.jitter,
                  "Relative variation of a round's computing time, for example "
                  "0.05 (default: as measured in the profile)")
      ->check(CLI::Range(0.0, 10.0));
}

void PlanningArguments::AddTrials(CLI::App& app) {
  trials_command_ = app.add_subcommand(
      "trials", "Compare optimizer settings for a recipe in short runs");
  trials_command_->footer(kTrialsExamples);
  trials_command_->add_option("RECIPE", trials_.recipe, kRecipeHelp)
      ->required();
  trials_command_
      ->add_option("-o,--output", trials_.output,
                   "Folder of the study: its runs and trials.textproto")
      ->required();
  AddSets(
      trials_command_,
      "Set a field in all trials: path.to.field=value; repeat for each field",
      trials_.sets);
  trials_command_
      ->add_option("--trials", trials_.trials,
                   "Maximum number of trials, including the recipe itself and "
                   "a synchronous run")
      ->check(CLI::Range(2, 100))
      ->capture_default_str();
  trials_command_
      ->add_option("--trial_hours", trials_.hours,
                   "Time limit, in hours, of all runs together, including "
                   "earlier runs of the study")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  trials_command_
      ->add_option("--seeds", trials_.seeds, "Number of seeds per trial")
      ->check(CLI::Range(2, 100))
      ->capture_default_str();
  trials_command_
      ->add_option("--rounds", trials_.rounds,
                   "Number of rounds of the longest runs (default: a tenth of "
                   "the recipe's)")
      ->check(AtLeastOne());
}

std::optional<Command> PlanningArguments::Given() const {
  if (profile_command_->parsed()) return profile_;
  if (plan_command_->parsed()) return plan_;
  if (simulate_command_->parsed()) return simulate_;
  if (trials_command_->parsed()) return trials_;
  return std::nullopt;
}

bool PlanningArguments::TakesEvaluateArguments() const {
  return trials_command_->parsed();
}

}  // namespace gandem
