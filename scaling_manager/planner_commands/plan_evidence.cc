// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner_commands/plan_evidence.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/files/text_proto.h"
#include "common/results/noise_rows.h"
#include "common/results/round_history.h"
#include "common/results/time_report.h"
#include "common/status.h"
#include "scaling_manager/planner/trials/trials.h"
#include "scaling_manager/profiler/fingerprint.h"

namespace gandem {
namespace {

// Quality does not depend on where it was measured, and a study may not have
// looked at its images.
absl::Status CheckSameModel(const RunConfig& recipe, RunConfig other,
                            const std::string& source) {
  *other.mutable_data() = recipe.data();
  other.mutable_generator()->set_device(recipe.generator().device());
  other.mutable_discriminator()->set_device(recipe.discriminator().device());
  if (NetworksHash(other) == NetworksHash(recipe)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      source, " is of another model: the networks, losses, penalties or ",
      "optimizers of '", other.name(), "' are not those of '", recipe.name(),
      "', so it says nothing of it: give one of this recipe, or leave it out"));
}

absl::string_view WhyNoEvidence(const Trials& trials) {
  if (NextRun(trials).has_value()) {
    return "no trial can be compared with the synchronous one yet, which takes "
           "two seeds at two rungs: go on with `gandem trials` (more "
           "--trial_hours)";
  }
  return "the study is complete and compares nothing: with two seeds the "
         "synchronous trial has to get better from one rung to the next, and "
         "another one must not fail. Make one of longer runs, in another "
         "folder (`gandem trials --rounds`)";
}

absl::Status ReadTrials(const RunConfig& recipe, const std::string& folder,
                        QualityEvidence& evidence) {
  const std::string path = folder + "/trials.textproto";
  const absl::StatusOr<std::string> text = ReadFile(path, kMaxTextProtoBytes);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(absl::StrCat(
        "--trials ", folder, ": ", text.status().message(),
        ": name a folder that `gandem trials RECIPE -o FOLDER` has made"));
  }
  GANDEM_RETURN_IF_ERROR(text);
  Trials trials;
  GANDEM_RETURN_IF_ERROR(ParseTextProto(*text, path, trials));
  GANDEM_RETURN_IF_ERROR(CheckSameModel(recipe, trials.recipe(),
                                        absl::StrCat("--trials ", folder)));
  evidence.trials = EvidenceOf(trials);
  if (!evidence.trials.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("--trials ", folder, ": ", WhyNoEvidence(trials)));
}

// The smallest of a role's decides: larger batches help that part least.
void TakeSmaller(const NoiseRow& row, std::optional<NoiseScale>& smallest) {
  if (!row.scale.has_value()) return;
  if (!smallest.has_value() || row.scale->images < smallest->images) {
    smallest = row.scale;
  }
}

absl::Status ReadNoise(const RunConfig& recipe, const std::string& run_dir,
                       QualityEvidence& evidence) {
  GANDEM_ASSIGN_OR_RETURN(const RoundHistory history,
                          RoundHistory::Read(run_dir));
  GANDEM_ASSIGN_OR_RETURN(const RunConfig trained,
                          LoadRunConfig(run_dir + "/config.textproto", {}));
  GANDEM_RETURN_IF_ERROR(
      CheckSameModel(recipe, trained, absl::StrCat("--noise_of ", run_dir)));
  // Of the rounds that count, as `gandem report` has them.
  GANDEM_ASSIGN_OR_RETURN(const TimeReport report, MakeTimeReport({}, history));
  for (const NoiseRow& row : report.noise) {
    TakeSmaller(row, row.role == GENERATOR ? evidence.generator_noise
                                           : evidence.discriminator_noise);
  }
  if (evidence.generator_noise.has_value() ||
      evidence.discriminator_noise.has_value()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "--noise_of ", run_dir,
      ": the run has not measured a gradient noise "
      "scale in ",
      NoiseScaleEstimator::kLeastRounds,
      " rounds: train one with --set control.noise_scale_every_rounds=20"));
}

}  // namespace

absl::StatusOr<QualityEvidence> ReadEvidence(const RunConfig& recipe,
                                             const std::string& trials,
                                             const std::string& noise_run) {
  QualityEvidence evidence;
  if (!trials.empty()) {
    GANDEM_RETURN_IF_ERROR(ReadTrials(recipe, trials, evidence));
  }
  if (!noise_run.empty()) {
    GANDEM_RETURN_IF_ERROR(ReadNoise(recipe, noise_run, evidence));
  }
  return evidence;
}

}  // namespace gandem
