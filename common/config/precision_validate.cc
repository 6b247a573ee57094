// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "absl/strings/str_cat.h"
#include "common/config/loss_needs.h"
#include "common/config/validate_parts.h"

namespace gandem {
namespace {

bool IsDouble(const RoleConfig& role) {
  return role.precision() == RoleConfig::FLOAT64;
}

// A double role with a float partner would get rounded feedback.
void CheckPrecisionDouble(const RunConfig& config, Faults& faults) {
  const auto image = config.exchange().image_encoding();
  const auto feedback = config.exchange().feedback_encoding();
  const int doubles = (image == ExchangeConfig::FLOAT64 ? 1 : 0) +
                      (feedback == ExchangeConfig::FLOAT64 ? 1 : 0) +
                      (IsDouble(config.generator()) ? 1 : 0) +
                      (IsDouble(config.discriminator()) ? 1 : 0);
  if (doubles != 0 && doubles != 4) {
    faults.Add(
        "FLOAT64 of generator.precision, discriminator.precision, "
        "exchange.image_encoding and exchange.feedback_encoding need each "
        "other: set all four or none");
  }
}

void CheckPrecisionRole(const std::string& name, const RoleConfig& role,
                        Faults& faults) {
  if (role.precision() == RoleConfig::TF32 && role.device() == "cpu") {
    faults.Add(absl::StrCat(
        name, ".precision TF32 needs a GPU: set ", name,
        ".device=cuda:0, or another precision (BFLOAT16 is fast on some "
        "CPUs, AUTO finds out)"));
  }
}

// Penalties use a gradient that the loss scale does not protect.
void CheckPenaltyPrecision(const RunConfig& config, Faults& faults) {
  if (config.discriminator().precision() == RoleConfig::FLOAT16 &&
      HasGradientPenalty(config.penalties())) {
    faults.Add(
        "discriminator.precision FLOAT16 makes the small image gradients 0 "
        "that penalties.gradient_penalty, dragan, r1 and r2 look at: set "
        "discriminator.precision=BFLOAT16 or FLOAT32, or these penalties to 0");
  }
}

}  // namespace

void CheckPrecision(const RunConfig& config, Faults& faults) {
  if (config.exchange().feedback_encoding() == ExchangeConfig::UINT8) {
    faults.Add(
        "exchange.feedback_encoding UINT8 cannot hold gradients: use FLOAT32 "
        "or BFLOAT16");
  }
  CheckPrecisionDouble(config, faults);
  CheckPenaltyPrecision(config, faults);
  CheckPrecisionRole("generator", config.generator(), faults);
  CheckPrecisionRole("discriminator", config.discriminator(), faults);
}

}  // namespace gandem
