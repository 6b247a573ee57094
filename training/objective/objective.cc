// SPDX-License-Identifier: Apache-2.0
#include "training/objective/objective.h"

#include "proto/config.pb.h"

namespace gandem {

ObjectiveOptions ObjectiveFrom(const RunConfig& config) {
  return {.loss = AdversarialLossOf(config.loss()),
          .class_loss = ClassLossFrom(config.class_loss()),
          .penalties = PenaltiesFrom(config.penalties()),
          .augmentation = AugmentFrom(config.augmentation()),
          .paired_l1 = config.paired_loss().l1(),
          .seed = config.seed()};
}

}  // namespace gandem
