// SPDX-License-Identifier: Apache-2.0
//
// Lists the optimizer families. Each has a message in proto/config.proto and an
// update rule whose source defines MakeRule.
//
// Thread safety, errors: see update_rule.h.
#pragma once

#include <memory>

#include "proto/config.pb.h"
#include "training/optimizers/rules/update_rule.h"

namespace gandem {

// Each line has the message of an optimizer and its field in OptimizerConfig.
#define GANDEM_OPTIMIZERS(OPTIMIZER)    \
  OPTIMIZER(AdamConfig, adam)           \
  OPTIMIZER(AdamwConfig, adamw)         \
  OPTIMIZER(SgdConfig, sgd)             \
  OPTIMIZER(RmspropConfig, rmsprop)     \
  OPTIMIZER(AdabeliefConfig, adabelief) \
  OPTIMIZER(RadamConfig, radam)         \
  OPTIMIZER(LarsConfig, lars)           \
  OPTIMIZER(LambConfig, lamb)           \
  OPTIMIZER(AdafactorConfig, adafactor) \
  OPTIMIZER(LionConfig, lion)

#define GANDEM_DECLARE_RULE(Config, field)                   \
  std::unique_ptr<UpdateRule> MakeRule(const Config& config, \
                                       const TensorsByName& parameters);
GANDEM_OPTIMIZERS(GANDEM_DECLARE_RULE)
#undef GANDEM_DECLARE_RULE

}  // namespace gandem
