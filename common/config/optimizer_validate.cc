// SPDX-License-Identifier: Apache-2.0
#include "common/config/optimizer_validate.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/config/field_ranges.h"

namespace gandem {
namespace {

// Where both are 0, a parameter without gradient becomes 0 / 0.
void CheckTwoEps(const std::string& prefix, double eps, double eps_root,
                 Faults& faults) {
  const double least = RangeOf<AdamConfig>("eps").low;
  if (std::max(eps, eps_root) >= least) return;
  faults.Add(absl::StrCat(prefix, "eps ", eps, " and eps_root ", eps_root,
                          " are both 0: one has to be at least ", least));
}

// What the numbers of a family have to do with each other.
void CheckTogether(const std::string& prefix, const OptimizerConfig& config,
                   Faults& faults) {
  switch (config.family_case()) {
    case OptimizerConfig::kSgd:
      if (config.sgd().nesterov() &&
          (config.sgd().momentum() == 0 || config.sgd().dampening() != 0)) {
        faults.Add(prefix +
                   "sgd.nesterov needs momentum above 0 and dampening 0");
      }
      return;
    case OptimizerConfig::kRmsprop:
      CheckTwoEps(prefix + "rmsprop.", config.rmsprop().eps(),
                  config.rmsprop().eps_root(), faults);
      return;
    case OptimizerConfig::kAdabelief:
      CheckTwoEps(prefix + "adabelief.", config.adabelief().eps(),
                  config.adabelief().eps_root(), faults);
      if (config.adabelief().rectify() &&
          !config.adabelief().bias_correction()) {
        faults.Add(prefix +
                   "adabelief.rectify is about corrected means: set "
                   "bias_correction=true, or rectify=false");
      }
      return;
    default:
      return;
  }
}

void CheckOptimizerSchedule(const std::string& prefix,
                            const RateScheduleConfig& schedule, int64_t rounds,
                            Faults& faults) {
  const int64_t until =
      schedule.decay_until_round() == 0 ? rounds : schedule.decay_until_round();
  if (schedule.shape() != RateScheduleConfig::CONSTANT &&
      until <= schedule.decay_from_round()) {
    faults.Add(
        absl::StrCat(prefix, "decay_from_round ", schedule.decay_from_round(),
                     " is not before the end of the decay, round ", until));
  }
}

void CheckGroups(const std::string& prefix, const OptimizerConfig& config,
                 Faults& faults) {
  for (int i = 0; i < config.group_size(); ++i) {
    if (!config.group(i).parameters().empty()) continue;
    faults.Add(absl::StrCat(prefix, "group[", i,
                            "].parameters is empty: name the parameters of the "
                            "group, as in \"main.0.*\""));
  }
}

}  // namespace

const google::protobuf::FieldDescriptor* FamilyFieldOf(
    const OptimizerConfig& config) {
  return config.GetReflection()->GetOneofFieldDescriptor(
      config, config.GetDescriptor()->FindOneofByName("family"));
}

void CheckOptimizer(const std::string& prefix, const OptimizerConfig& config,
                    int64_t rounds, Faults& faults) {
  CheckTogether(prefix, config, faults);
  CheckOptimizerSchedule(prefix + "rate_schedule.", config.rate_schedule(),
                         rounds, faults);
  CheckGroups(prefix, config, faults);
}

}  // namespace gandem
