// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner_commands/plan_command.h"

#include <algorithm>
#include <map>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/config/field_ranges.h"
#include "common/config/role_name.h"
#include "common/files/file.h"
#include "common/files/quantities.h"
#include "common/status.h"
#include "scaling_manager/planner/predict.h"
#include "scaling_manager/planner/quality/optimizer_rules.h"
#include "scaling_manager/planner/quality/quality.h"
#include "scaling_manager/planner_commands/machines.h"
#include "scaling_manager/planner_commands/plan_file.h"
#include "scaling_manager/planner_commands/plan_inputs.h"
#include "scaling_manager/profiler/fingerprint.h"
#include "scaling_manager/profiler/known_probes.h"
#include "scaling_manager/profiler/probe_list.h"
#include "scaling_manager/profiler/profile_file.h"

namespace gandem {
namespace {

absl::StatusOr<Plan::Objective> ParseObjective(const std::string& text) {
  Plan::Objective objective;
  if (Plan::Objective_Parse(absl::AsciiStrToUpper(text), &objective)) {
    return objective;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--objective '", text, "' is not time_to_quality, throughput or memory"));
}

// Parses a range such as "0..4", or one number.
absl::Status ParseLags(const std::string& text, SearchLimits& limits) {
  const FieldRange lags = RangeOf<ScheduleConfig>("lag");
  // The largest lag that the optimism of both roles together can compensate.
  const double most_matched = 2 * RangeOf<OptimizerConfig>("optimism").high;
  const std::vector<std::string> ends = absl::StrSplit(text, "..");
  if (ends.size() <= 2 && absl::SimpleAtoi(ends.front(), &limits.least_lag) &&
      absl::SimpleAtoi(ends.back(), &limits.most_lag) &&
      limits.least_lag <= limits.most_lag && lags.Has(limits.least_lag) &&
      lags.Has(limits.most_lag) && limits.least_lag <= most_matched) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--lag '", text, "' allows no plan: give a lag or a range within ",
      lags.text, " whose smallest lag is at most ", most_matched,
      ", for example 0..4"));
}

// Returns the fingerprint that a profile has to match.
ProfileFingerprint FingerprintFor(const PlanOptions& options,
                                  const RunConfig& recipe,
                                  const ProfileFingerprint& profiled) {
  ProfileFingerprint here = FingerprintHere(recipe);
  if (options.ignore_machine) {
    here.set_machine(profiled.machine());
    here.set_cores(profiled.cores());
    here.set_memory_bytes(profiled.memory_bytes());
  }
  return here;
}

std::string ProfileCommand(const PlanOptions& options) {
  std::string command = absl::StrCat("gandem profile ", options.recipe);
  for (const auto& [flag, value] : {std::pair(" --data ", options.data),
                                    std::pair(" -o ", options.profile)}) {
    if (!value.empty()) absl::StrAppend(&command, flag, value);
  }
  for (const std::string& set : options.sets) {
    absl::StrAppend(&command, " --set '", set, "'");
  }
  return command;
}

absl::StatusOr<Profile> ProfileFor(const PlanOptions& options,
                                   const RunConfig& recipe) {
  if (options.profile.empty()) {
    std::optional<Profile> kept = FindCachedProfile(FingerprintHere(recipe));
    if (kept.has_value()) return *std::move(kept);
    return absl::NotFoundError(absl::StrCat(
        "there is no profile of ", options.recipe, " on this machine yet: `",
        ProfileCommand(options), "` makes one in minutes"));
  }
  GANDEM_ASSIGN_OR_RETURN(Profile profile, ReadProfile(options.profile));
  absl::Status holds = CheckProfileHolds(
      profile, FingerprintFor(options, recipe, profile.fingerprint()));
  if (!holds.ok()) {
    return Annotate(holds, absl::StrCat("--profile ", options.profile));
  }
  return profile;
}

std::string FingerprintText(const ProfileFingerprint& fingerprint) {
  return absl::StrCat(
      fingerprint.machine(), ", ", fingerprint.cores(), " cores, ",
      BytesText(fingerprint.memory_bytes()), ", networks ",
      absl::Hex(fingerprint.networks(), absl::kZeroPad16), ", release ",
      fingerprint.release(), ", LibTorch ", fingerprint.torch_version());
}

// Reports settings that were not measured, for example within the budget.
std::string OpenText(const PlanOptions& options, const Profile& profile) {
  // Predicting the recipe as it is requires no other settings.
  if (options.as_it_is) return "";
  const std::vector<ProbeQuestion> open = OpenQuestions(
      profile, ProbeList(profile.recipe(), profile.fingerprint().cores()));
  if (open.empty()) return "";
  return absl::StrCat("\nquestions that the profile leaves open: ", open.size(),
                      "; the first: ", ToString(open.front().together.front()),
                      ". Plans use only measured settings; `",
                      ProfileCommand(options), " --budget MORE`",
                      options.ignore_machine ? ", on its machine," : "",
                      " measures the rest\n");
}

}  // namespace

PlanModels RealModels(const NoiseScales& noise) {
  return {.predict = Predict,
          .predict_roughly = PredictRoughly,
          .images_needed =
              [noise](const RunConfig& config) {
                return PredictImagesNeeded(config, noise);
              },
          .choose_optimizers = ChooseOptimizers};
}

namespace {

absl::Status CheckMaxBatch(const RunConfig& recipe, int64_t max_batch) {
  const int64_t batch = std::max(recipe.generator().batch_size(),
                                 recipe.discriminator().batch_size());
  if (max_batch <= 0 || max_batch >= batch) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--max_batch ", max_batch, " is less than the recipe's batch of ", batch,
      ": give that much, or a smaller batch (--set generator.batch_size=",
      max_batch, " --set discriminator.batch_size=", max_batch, ")"));
}

}  // namespace

absl::StatusOr<Plan> MakePlan(const PlanOptions& options,
                              const RunConfig& recipe, const Profile& profile,
                              const PlanModels& models) {
  GANDEM_ASSIGN_OR_RETURN(const Plan::Objective objective,
                          ParseObjective(options.objective));
  SearchLimits limits = {.max_batch = options.max_batch};
  GANDEM_RETURN_IF_ERROR(ParseLags(options.lag, limits));
  GANDEM_RETURN_IF_ERROR(CheckMaxBatch(recipe, options.max_batch));
  GANDEM_ASSIGN_OR_RETURN(Machines machines,
                          MachinesFor(options.machines, recipe, profile));
  const PlanRequest request = {.recipe = recipe,
                               .profile = profile,
                               .machines = std::move(machines),
                               .objective = objective,
                               .limits = limits};
  GANDEM_ASSIGN_OR_RETURN(Plan plan,
                          options.as_it_is
                              ? PlanAsItIs(request, options.colocated, models)
                              : FindPlan(request, models));
  plan.set_profile(FingerprintText(profile.fingerprint()));
  plan.set_unix_seconds(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
  return plan;
}

absl::Status RunPlan(const PlanOptions& options, const RunConfig& recipe,
                     std::ostream& out) {
  GANDEM_ASSIGN_OR_RETURN(Profile profile, ProfileFor(options, recipe));
  AddHeldImages(HeldImageBytes(recipe.data()), profile);
  NoiseScales noise;
  if (!options.noise_of.empty()) {
    GANDEM_ASSIGN_OR_RETURN(noise, ReadNoiseScales(recipe, options.noise_of));
  }
  GANDEM_ASSIGN_OR_RETURN(
      const Plan plan, MakePlan(options, recipe, profile, RealModels(noise)));
  // Predicting the recipe as it is must not overwrite an existing plan.
  const bool has_file = !options.as_it_is || !options.output.empty();
  const std::string output =
      options.output.empty() ? "plan.textproto" : options.output;
  if (has_file) {
    GANDEM_RETURN_IF_ERROR(WritePlan(plan, output));
  }
  out << PlanTable(plan) << OpenText(options, profile);
  if (has_file) {
    out << "\ngandem train --plan " << output
        << " --run_dir RUN_DIR trains by candidate 1\n";
  }
  return absl::OkStatus();
}

namespace {

std::string PlanPath(const std::string& run_dir) {
  return run_dir + "/plan.textproto";
}

absl::StatusOr<Plan> ChooseCandidate(const std::string& path, int candidate) {
  GANDEM_ASSIGN_OR_RETURN(Plan plan, ReadPlan(path));
  if (candidate < 1 || candidate > plan.candidates_size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--candidate ", candidate, " is not in ", path,
                     ", which has candidates 1 to ", plan.candidates_size()));
  }
  if (candidate == 1) return plan;
  plan.clear_reasons();
  for (int i = candidate - 1; i > 0; --i) {
    plan.mutable_candidates()->SwapElements(i, i - 1);
  }
  return plan;
}

}  // namespace

absl::StatusOr<Plan> PlanNow(const RunConfig& recipe,
                             const MachineOptions& machines,
                             const std::string& folder,
                             const ProfileMaker& measure) {
  std::optional<Profile> profile = FindCachedProfile(FingerprintHere(recipe));
  // An interrupted profile has few measurements: finish it first.
  if (!profile.has_value() || profile->is_under_way()) {
    GANDEM_ASSIGN_OR_RETURN(profile, measure(recipe, folder));
  }
  AddHeldImages(HeldImageBytes(recipe.data()), *profile);
  return MakePlan({.machines = machines}, recipe, *profile, RealModels());
}

absl::StatusOr<std::optional<Plan>> PlanToFollow(const PlanFlags& flags,
                                                 const std::string& run_dir) {
  if (flags.is_file()) {
    GANDEM_ASSIGN_OR_RETURN(Plan plan,
                            ChooseCandidate(flags.plan, flags.candidate));
    return std::optional<Plan>(std::move(plan));
  }
  if (!flags.is_auto() || !PathExists(PlanPath(run_dir))) {
    return std::optional<Plan>();
  }
  GANDEM_ASSIGN_OR_RETURN(Plan plan, ReadPlan(PlanPath(run_dir)));
  return std::optional<Plan>(std::move(plan));
}

bool IsNoneOfThePlan(const std::string& set) {
  const std::string field = set.substr(0, set.find_first_of(".="));
  return field == "rounds" || field == "name" || field == "checkpoint" ||
         field == "samples" || field == "control";
}

absl::Status KeepPlan(const std::string& run_dir, const Plan& plan) {
  return WritePlan(plan, PlanPath(run_dir));
}

absl::Status CheckMachineHas(const Plan& plan, int cores, bool external) {
  if (external) return absl::OkStatus();
  std::map<std::string, int> threads;  // by host
  for (const PlacedWorker& worker : plan.candidates(0).placement().workers()) {
    threads[worker.host()] += worker.threads();
  }
  if (threads.size() > 1) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the plan (", plan.candidates(0).name(), ") is for ", threads.size(),
        " hosts, and `gandem train` starts workers on this one: give "
        "--external and --listen HOST:PORT to start them by hand, or plan for "
        "this machine alone (`gandem plan RECIPE --devices ",
        cores, "`)"));
  }
  if (threads.begin()->second > cores) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the plan (", plan.candidates(0).name(), ") is for ",
        threads.begin()->second, " cores, and this process may use ", cores,
        ": plan again with --devices ", cores));
  }
  return absl::OkStatus();
}

std::vector<std::string> PlanNotices(const Plan& plan) {
  std::map<std::string, std::vector<std::string>> hosts;
  for (const PlacedWorker& worker : plan.candidates(0).placement().workers()) {
    hosts[worker.host()].push_back(
        absl::StrCat(RoleName(worker.role()), " ", worker.rank()));
  }
  std::vector<std::string> lines = PlanLines(plan);
  if (hosts.size() < 2) return lines;
  for (const auto& [host, workers] : hosts) {
    lines.push_back(
        absl::StrCat("on ", host, ": ", absl::StrJoin(workers, ", ")));
  }
  lines.push_back(
      "to check that these hosts reach each other, run `gandem doctor PLAN "
      "--run_dir DIR --host HOST:PORT` (docs/planning.md)");
  return lines;
}

}  // namespace gandem
