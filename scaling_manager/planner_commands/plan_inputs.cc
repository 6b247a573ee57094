// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner_commands/plan_inputs.h"

#include <functional>
#include <numeric>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/results/noise_rows.h"
#include "common/results/round_history.h"
#include "common/results/time_report.h"
#include "common/status.h"
#include "pipeline/formats/idx_reader.h"
#include "pipeline/image_store.h"
#include "pipeline/remote/url.h"
#include "pipeline/sources/open_dataset.h"
#include "scaling_manager/profiler/fingerprint.h"

namespace gandem {
namespace {

// Returns the bytes of an IDX file in memory, or 0 without a local file.
int64_t IdxBytes(const std::string& path) {
  if (path.empty() || IsUrl(path)) return 0;
  const auto shape = ReadIdxShape(path, /*num_dimensions=*/3);
  if (!shape.ok()) return 0;
  return std::accumulate(shape->begin(), shape->end(), int64_t{1},
                         std::multiplies<int64_t>());
}

int64_t BytesOf(const ImageStore& images) {
  const auto shape = images.info().common_shape;
  const auto stored = images.Fetch(0);
  // An empty fetch means that the images are already in memory.
  if (!shape.has_value() || !stored.ok() || !stored->empty()) return 0;
  const auto tensors = images.tensors();
  return images.size() *
         (tensors.has_value() ? tensors->sample_bytes() : shape->NumValues());
}

// Ignores the device and the data folder, which do not affect gradient noise.
absl::Status CheckSameModel(const RunConfig& recipe, RunConfig other,
                            const std::string& source) {
  *other.mutable_data() = recipe.data();
  other.mutable_generator()->set_device(recipe.generator().device());
  other.mutable_discriminator()->set_device(recipe.discriminator().device());
  if (NetworksHash(other) == NetworksHash(recipe)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      source, " is of another model: the networks, losses, penalties or ",
      "optimizers of '", other.name(), "' are not those of '", recipe.name(),
      "': give a run of this recipe, or leave --noise_of out"));
}

// Takes the smaller scale, which limits the benefit of larger batches.
void TakeSmaller(const NoiseRow& row, std::optional<NoiseScale>& smallest) {
  if (!row.scale.has_value()) return;
  if (!smallest.has_value() || row.scale->images < smallest->images) {
    smallest = row.scale;
  }
}

}  // namespace

int64_t HeldImageBytes(const DataConfig& data) {
  if (data.source().empty()) {
    return IdxBytes(data.idx_images()) + IdxBytes(data.idx_inputs());
  }
  // Do not wait for a network.
  if (IsUrl(data.source())) return 0;
  const auto images = OpenImages(data);
  return images.ok() ? BytesOf(**images) : 0;
}

void AddHeldImages(int64_t bytes, Profile& profile) {
  for (Probe& probe : *profile.mutable_probes()) {
    if (probe.settings().role() == GENERATOR || probe.peak_bytes() == 0) {
      continue;
    }
    probe.set_peak_bytes(probe.peak_bytes() + bytes);
    probe.set_resting_bytes(probe.resting_bytes() + bytes);
  }
}

absl::StatusOr<NoiseScales> ReadNoiseScales(const RunConfig& recipe,
                                            const std::string& run_dir) {
  GANDEM_ASSIGN_OR_RETURN(const RoundHistory history,
                          RoundHistory::Read(run_dir));
  GANDEM_ASSIGN_OR_RETURN(const RunConfig trained,
                          LoadRunConfig(run_dir + "/config.textproto", {}));
  GANDEM_RETURN_IF_ERROR(
      CheckSameModel(recipe, trained, absl::StrCat("--noise_of ", run_dir)));
  // MakeTimeReport skips the same rounds as `gandem report`.
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
