// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/predict.h"

#include <utility>

#include "common/status.h"
#include "scaling_manager/planner/model/memory_model.h"
#include "scaling_manager/planner/model/run_shape.h"
#include "scaling_manager/planner/simulation/round_summary.h"
#include "scaling_manager/planner/simulation/simulated_run.h"

namespace gandem {

absl::StatusOr<Prediction> Predict(const Profile& profile,
                                   const Machines& machines,
                                   const RunConfig& config,
                                   const Placement& placement) {
  GANDEM_ASSIGN_OR_RETURN(const RunShape shape,
                          MakeRunShape(profile, machines, config, placement));
  GANDEM_ASSIGN_OR_RETURN(const SimulatedRounds rounds, SimulateRun(shape, {}));
  Prediction prediction = SummaryOf(shape, rounds);
  if (shape.colocated) {
    GANDEM_ASSIGN_OR_RETURN(const int64_t both,
                            ColocatedPeakBytes(profile, shape));
    prediction.set_generator_bytes(both);
    prediction.set_discriminator_bytes(both);
    return prediction;
  }
  GANDEM_ASSIGN_OR_RETURN(const int64_t generator,
                          PeakBytes(profile, shape, GENERATOR));
  GANDEM_ASSIGN_OR_RETURN(const int64_t discriminator,
                          PeakBytes(profile, shape, DISCRIMINATOR));
  prediction.set_generator_bytes(generator);
  prediction.set_discriminator_bytes(discriminator);
  return prediction;
}

}  // namespace gandem
