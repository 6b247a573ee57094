// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner_commands/measured_noise.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/results/noise_rows.h"
#include "common/results/round_history.h"
#include "common/results/time_report.h"
#include "common/status.h"
#include "scaling_manager/profiler/fingerprint.h"

namespace gandem {
namespace {

// Noise does not depend on where it was measured.
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

// Larger batches help the part with the smallest scale least, so it decides.
void TakeSmaller(const NoiseRow& row, std::optional<NoiseScale>& smallest) {
  if (!row.scale.has_value()) return;
  if (!smallest.has_value() || row.scale->images < smallest->images) {
    smallest = row.scale;
  }
}

}  // namespace

absl::StatusOr<NoiseScales> ReadNoiseScales(const RunConfig& recipe,
                                            const std::string& run_dir) {
  GANDEM_ASSIGN_OR_RETURN(const RoundHistory history,
                          RoundHistory::Read(run_dir));
  GANDEM_ASSIGN_OR_RETURN(const RunConfig trained,
                          LoadRunConfig(run_dir + "/config.textproto", {}));
  GANDEM_RETURN_IF_ERROR(
      CheckSameModel(recipe, trained, absl::StrCat("--noise_of ", run_dir)));
  // `gandem report` leaves out the same rounds.
  GANDEM_ASSIGN_OR_RETURN(const TimeReport report, MakeTimeReport({}, history));
  NoiseScales noise;
  for (const NoiseRow& row : report.noise) {
    TakeSmaller(row,
                row.role == GENERATOR ? noise.generator : noise.discriminator);
  }
  if (noise.generator.has_value() || noise.discriminator.has_value()) {
    return noise;
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "--noise_of ", run_dir,
      ": the run has not measured a gradient noise "
      "scale in ",
      NoiseScaleEstimator::kLeastRounds,
      " rounds: train one with --set control.noise_scale_every_rounds=20"));
}

}  // namespace gandem
