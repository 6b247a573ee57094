// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/predict.h"

#include <utility>

#include "common/status.h"
#include "scaling_manager/planner/model/closed_form.h"
#include "scaling_manager/planner/model/memory_model.h"
#include "scaling_manager/planner/model/run_shape.h"
#include "scaling_manager/planner/simulation/simulated_run.h"

namespace gandem {
namespace {

absl::Status AddMemory(const Profile& profile, const RunShape& shape,
                       Prediction& prediction) {
  if (shape.colocated) {
    GANDEM_ASSIGN_OR_RETURN(const int64_t both,
                            ColocatedPeakBytes(profile, shape));
    prediction.set_generator_bytes(both);
    prediction.set_discriminator_bytes(both);
    return absl::OkStatus();
  }
  GANDEM_ASSIGN_OR_RETURN(const int64_t generator,
                          PeakBytes(profile, shape, GENERATOR));
  GANDEM_ASSIGN_OR_RETURN(const int64_t discriminator,
                          PeakBytes(profile, shape, DISCRIMINATOR));
  prediction.set_generator_bytes(generator);
  prediction.set_discriminator_bytes(discriminator);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Prediction> Predict(const ProfileCosts& costs,
                                   const Machines& machines,
                                   const RunConfig& config,
                                   const Placement& placement) {
  GANDEM_ASSIGN_OR_RETURN(const RunShape shape,
                          MakeRunShape(costs, machines, config, placement));
  GANDEM_ASSIGN_OR_RETURN(const SimulatedRounds rounds, SimulateRun(shape, {}));
  Prediction prediction = SummaryOf(shape, rounds);
  GANDEM_RETURN_IF_ERROR(AddMemory(costs.profile(), shape, prediction));
  return prediction;
}

absl::StatusOr<Prediction> PredictRoughly(const ProfileCosts& costs,
                                          const Machines& machines,
                                          const RunConfig& config,
                                          const Placement& placement) {
  GANDEM_ASSIGN_OR_RETURN(const RunShape shape,
                          MakeRunShape(costs, machines, config, placement));
  Prediction prediction;
  prediction.set_images_per_second(
      static_cast<double>(shape.schedule.TrainImagesPerRound()) /
      RoughRoundSeconds(shape));
  GANDEM_RETURN_IF_ERROR(AddMemory(costs.profile(), shape, prediction));
  return prediction;
}

}  // namespace gandem
