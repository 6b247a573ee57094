// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner_commands/simulate_plan_command.h"

#include <optional>
#include <ostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files/file.h"
#include "common/files/text_proto.h"
#include "common/status.h"
#include "scaling_manager/planner/model/profile_probes.h"
#include "scaling_manager/planner/scaling/scaling_study.h"
#include "scaling_manager/planner_commands/plan_file.h"
#include "scaling_manager/profiler/fingerprint.h"
#include "scaling_manager/profiler/profile_file.h"

namespace gandem {
namespace {

// Reads a profile. Unlike ReadProfile, accepts a profile that was never
// measured, without a recipe and a fingerprint (docs/scaling).
absl::StatusOr<Profile> ReadNumbers(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxTextProtoBytes));
  Profile profile;
  GANDEM_RETURN_IF_ERROR(ParseTextProto(text, path, profile));
  GANDEM_RETURN_IF_ERROR(Annotate(CheckProfile(profile), path));
  return profile;
}

std::string ProfileBeside(const std::string& plan) {
  const size_t slash = plan.rfind('/');
  return absl::StrCat(
      slash == std::string::npos ? "" : plan.substr(0, slash + 1),
      "profile.textproto");
}

absl::StatusOr<Profile> ProfileOf(const SimulatePlanOptions& options,
                                  const Plan& plan) {
  if (!options.profile.empty()) return ReadNumbers(options.profile);
  const std::string path = ProfileBeside(options.plan);
  absl::StatusOr<Profile> profile = ReadNumbers(path);
  if (!absl::IsNotFound(profile.status())) return profile;
  std::optional<Profile> kept =
      FindCachedProfile(FingerprintHere(plan.candidates(0).config()));
  if (kept.has_value()) return *std::move(kept);
  return absl::NotFoundError(absl::StrCat(
      "there is no ", path, ", and no profile of the plan's networks is kept ",
      "on this machine: give the profile of the plan with --profile"));
}

// Makes the check of `gandem plan`, except for profiles written by hand.
absl::Status CheckSameModel(const Profile& profile, const Plan& plan) {
  if (!profile.has_fingerprint() ||
      profile.fingerprint().networks() ==
          NetworksHash(plan.candidates(0).config())) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the profile of '", profile.recipe().name(),
                   "' measured another model or device than the plan uses: "
                   "give the profile ",
                   "of the plan with --profile"));
}

std::string ScalingTable(Scaling scaling, const std::vector<ScalingRow>& rows) {
  std::string text = scaling == Scaling::kWeak
                         ? "weak scaling: the images of a device stay\n"
                         : "strong scaling: the batch stays\n";
  absl::StrAppendFormat(&text, "%8s %5s %5s %8s %11s %10s %7s %7s  %s\n",
                        "devices", "G", "D", "batch", "images/s", "efficiency",
                        "G waits", "D waits", "bottleneck");
  for (const ScalingRow& row : rows) {
    if (!row.why_not.empty()) {
      absl::StrAppendFormat(&text, "%8d  %s\n", row.devices, row.why_not);
      continue;
    }
    absl::StrAppendFormat(
        &text, "%8d %5d %5d %8d %11.1f %9.1f%% %6.1f%% %6.1f%%  %s\n",
        row.devices, row.generators, row.discriminators, row.batch,
        row.images_per_second, 100 * row.efficiency, 100 * row.generator_wait,
        100 * row.discriminator_wait, row.bottleneck);
  }
  return text;
}

}  // namespace

absl::Status SimulatePlan(const SimulatePlanOptions& options,
                          std::ostream& out) {
  StudyOptions study = {.jitter = options.jitter};
  GANDEM_ASSIGN_OR_RETURN(study.devices, ParseDevices(options.devices));
  GANDEM_ASSIGN_OR_RETURN(const Plan plan, ReadPlan(options.plan));
  GANDEM_ASSIGN_OR_RETURN(const Profile profile, ProfileOf(options, plan));
  GANDEM_RETURN_IF_ERROR(CheckSameModel(profile, plan));
  GANDEM_ASSIGN_OR_RETURN(const std::vector<ScalingRow> weak,
                          StudyScaling(profile, plan, Scaling::kWeak, study));
  GANDEM_ASSIGN_OR_RETURN(const std::vector<ScalingRow> strong,
                          StudyScaling(profile, plan, Scaling::kStrong, study));
  out << plan.candidates(0).name() << "; a round varies by "
      << absl::StrFormat("%.1f %%",
                         100 * (options.jitter < 0 ? MeasuredJitter(profile)
                                                   : options.jitter))
      << "\n\n"
      << ScalingTable(Scaling::kWeak, weak) << "\n"
      << ScalingTable(Scaling::kStrong, strong);
  return absl::OkStatus();
}

}  // namespace gandem
