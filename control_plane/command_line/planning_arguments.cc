// SPDX-License-Identifier: Apache-2.0
#include "control_plane/command_line/planning_arguments.h"

#include <CLI/CLI.hpp>

#include "control_plane/command_line/argument_checks.h"

namespace gandem {
namespace {

constexpr char kProfileExamples[] =
    "The same command goes on where it stopped. docs/planning.md says what is\n"
    "measured, and what it is for.\n"
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
    "Arguments behind -- are those of `gandem evaluate` [--num 2000]. The "
    "same\n"
    "command goes on; docs/trials.md says how it decides.\n"
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
  profile_command_
      ->add_option("RECIPE", profile_.recipe, "RunConfig as text proto")
      ->required();
  profile_command_
      ->add_option("-o,--output", profile_.output, "Profile as text proto")
      ->capture_default_str();
  profile_command_->add_option(
      "--data", profile_.data,
      "Images in place of the recipe's: how fast they are decoded is "
      "measured, too");
  AddSets(profile_command_,
          "Changes a field of the recipe: path.to.field=value", profile_.sets);
  profile_command_
      ->add_option("--budget", profile_.budget,
                   "How long all of it may take, as in 90s or 5m")
      ->capture_default_str();
  profile_command_->add_option(
      "--memory", profile_.memory,
      "What a probe may have, as in 8GiB [most of what is free]");
  AddPython(profile_command_, profile_.python);
  profile_command_->add_flag(
      "--fresh", profile_.fresh,
      "Measure again what the output or the cache has already");
}

void PlanningArguments::AddPlan(CLI::App& app) {
  plan_command_ = app.add_subcommand(
      "plan", "Find the best way to run a recipe on some machines");
  plan_command_->footer(kPlanExamples);
  plan_command_->add_option("RECIPE", plan_.recipe, "As for `gandem train`")
      ->required();
  plan_command_->add_option("--data", plan_.data,
                            "Images in place of the recipe's");
  AddSets(plan_command_, "Changes a field of the recipe: path.to.field=value",
          plan_.sets);
  AddMachines(plan_command_, plan_.machines);
  plan_command_
      ->add_option("--objective", plan_.objective,
                   "What is best: time_to_quality, throughput or memory")
      ->check(CLI::IsMember({"time_to_quality", "throughput", "memory"}))
      ->capture_default_str();
  plan_command_->add_option("--profile", plan_.profile,
                            "Profile of the recipe [the one that is kept]");
  plan_command_
      ->add_option("--lag", plan_.lag, "Lags to consider, as in 0..4 or 1")
      ->capture_default_str();
  plan_command_
      ->add_option("--max_batch", plan_.max_batch,
                   "Largest batch of a role to consider, such as the "
                   "gradient noise scale")
      ->check(AtLeastOne());
  plan_command_->add_option(
      "--noise_of", plan_.noise_of,
      "Folder of a run that measured gradient noise scales, for batches");
  plan_command_->add_flag("--ignore_machine", plan_.ignore_machine,
                          "Take a profile of another machine: plan for that "
                          "one, or for hosts with a speed");
  CLI::Option* const as_it_is = plan_command_->add_flag(
      "--as_it_is", plan_.as_it_is,
      "Predict the recipe as it stands: nothing is chosen");
  for (const char* const other : {"--lag", "--objective", "--max_batch"}) {
    as_it_is->excludes(plan_command_->get_option(other));
  }
  plan_command_
      ->add_flag("--colocated", plan_.colocated,
                 "With --as_it_is: both networks in one process")
      ->needs(as_it_is);
  plan_command_->add_option(
      "-o,--output", plan_.output,
      "The plan's file [plan.textproto; with --as_it_is none]");
}

void PlanningArguments::AddSimulate(CLI::App& app) {
  simulate_command_ =
      app.add_subcommand("simulate", "Predict a plan's speed on more devices");
  simulate_command_->footer(kSimulateExamples);
  CLI::App& command = *simulate_command_;
  command
      .add_option("PLAN", simulate_.plan,
                  "Plan as text proto, whose first candidate is simulated")
      ->required();
  command.add_option("--profile", simulate_.profile,
                     "Profile that it was made of [profile.textproto beside "
                     "the plan, else the one that is kept]");
  command
      .add_option("--devices", simulate_.devices,
                  "Numbers of workers, as in 8,64 or 1..1024, which is 1, 2, "
                  "4, ...")
      ->capture_default_str();
  command
      .add_option("--jitter", simulate_.jitter,
                  "How much a round's computing varies, as in 0.05 [as the "
                  "profile's did]")
      ->check(CLI::Range(0.0, 10.0));
}

void PlanningArguments::AddTrials(CLI::App& app) {
  trials_command_ =
      app.add_subcommand("trials", "Try optimizers of a recipe in short runs");
  trials_command_->footer(kTrialsExamples);
  trials_command_
      ->add_option("RECIPE", trials_.recipe, "RunConfig as text proto")
      ->required();
  trials_command_
      ->add_option("-o,--output", trials_.output,
                   "Folder of the study: runs and trials.textproto")
      ->required();
  AddSets(trials_command_, "Changes a field in all trials", trials_.sets);
  trials_command_
      ->add_option("--trials", trials_.trials,
                   "At most so many, the recipe itself and a synchronous run "
                   "among them")
      ->check(CLI::Range(2, 100))
      ->capture_default_str();
  trials_command_
      ->add_option("--trial_hours", trials_.hours,
                   "Of all runs together, those before included")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  trials_command_->add_option("--seeds", trials_.seeds, "Of each trial")
      ->check(CLI::Range(2, 100))
      ->capture_default_str();
  trials_command_
      ->add_option("--rounds", trials_.rounds,
                   "Of the longest runs [a tenth of the recipe's]")
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
