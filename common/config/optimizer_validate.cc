// SPDX-License-Identifier: Apache-2.0
#include "common/config/optimizer_validate.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/config/schedule_limits.h"

namespace gandem {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr double kBelowOne = 1 - std::numeric_limits<double>::epsilon() / 2;
constexpr double kAboveZero = std::numeric_limits<double>::denorm_min();
// In float32 anything smaller is 0, and a parameter without gradient 0 / 0.
constexpr double kSmallestEps = std::numeric_limits<float>::min();

constexpr double kMaxRateFactor = 1000;

// A field means the same in every family.
struct Range {
  absl::string_view field;
  double low;
  double high;
};
constexpr Range kRanges[] = {
    {"learning_rate", kAboveZero, 10}, {"beta1", 0, kBelowOne},
    {"beta2", 0, kBelowOne},           {"alpha", 0, kBelowOne},
    {"momentum", 0, kBelowOne},        {"dampening", 0, 1},
    {"eps", kSmallestEps, 1},          {"eps_root", 0, 1},
    {"eps_square", kSmallestEps, 1},   {"eps_scale", kAboveZero, 1},
    {"decay_exponent", kAboveZero, 1}, {"clip_threshold", kAboveZero, 1000},
    {"trust", kAboveZero, 1},          {"weight_decay", 0, 1},
    {"final_beta2", 0, kBelowOne},
};

void CheckOptimizerDouble(absl::string_view path, double low, double high,
                          double value, Faults& faults) {
  if (high == kBelowOne) {
    faults.CheckFraction(path, value);
  } else if (low == kAboveZero) {
    faults.CheckPositive(path, value, high);
  } else {
    faults.CheckRange(path, value, low, high);
  }
}

// Every number of a family has a range.
void CheckFamily(const std::string& prefix, const Message& family,
                 Faults& faults) {
  const auto& type = *family.GetDescriptor();
  const bool two_eps = type.FindFieldByName("eps_root") != nullptr;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_DOUBLE) continue;
    const auto range = std::ranges::find(kRanges, field.name(), &Range::field);
    GANDEM_CHECK(range != std::end(kRanges));
    const bool may_be_zero = two_eps && field.name() == "eps";
    CheckOptimizerDouble(
        prefix + field.name(), may_be_zero ? 0 : range->low, range->high,
        family.GetReflection()->GetDouble(family, &field), faults);
  }
}

void CheckTwoEps(const std::string& prefix, double eps, double eps_root,
                 Faults& faults) {
  if (std::max(eps, eps_root) >= kSmallestEps) return;
  faults.Add(absl::StrCat(prefix, "eps ", eps, " and eps_root ", eps_root,
                          " are both 0: one has to be at least ",
                          kSmallestEps));
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
    case OptimizerConfig::kAdam:
      faults.CheckRange(prefix + "adam.beta2_steps",
                        config.adam().beta2_steps(), 0, 1'000'000'000'000);
      return;
    case OptimizerConfig::kRmsprop:
      CheckTwoEps(prefix + "rmsprop.", config.rmsprop().eps(),
                  config.rmsprop().eps_root(), faults);
      return;
    case OptimizerConfig::kAdabelief:
      CheckTwoEps(prefix + "adabelief.", config.adabelief().eps(),
                  config.adabelief().eps_root(), faults);
      if (config.adabelief().beta1() == 0) {
        faults.Add(prefix +
                   "adabelief.beta1 0: every gradient would be as expected and "
                   "every step huge; set it above 0, or use adam");
      }
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
  faults.CheckRange(prefix + "warmup_rounds", schedule.warmup_rounds(), 0,
                    kMaxRounds);
  faults.CheckRange(prefix + "decay_from_round", schedule.decay_from_round(), 0,
                    kMaxRounds);
  faults.CheckRange(prefix + "decay_until_round", schedule.decay_until_round(),
                    0, kMaxRounds);
  faults.CheckRange(prefix + "final_factor", schedule.final_factor(), 0.0, 1.0);
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
    const ParameterGroupConfig& group = config.group(i);
    const std::string name = absl::StrCat(prefix, "group[", i, "].");
    if (group.parameters().empty()) {
      faults.Add(name +
                 "parameters is empty: name the parameters of the group, as in "
                 "\"main.0.*\"");
    }
    if (group.learning_rate_factor() == 0) {
      faults.Add(name +
                 "learning_rate_factor 0 is not in (0, 1000]: what is not to "
                 "move belongs into the role's freeze");
    } else {
      faults.CheckPositive(name + "learning_rate_factor",
                           group.learning_rate_factor(), kMaxRateFactor);
    }
  }
}

}  // namespace

const FieldDescriptor* FamilyFieldOf(const OptimizerConfig& config) {
  return config.GetReflection()->GetOneofFieldDescriptor(
      config, config.GetDescriptor()->FindOneofByName("family"));
}

void CheckOptimizer(const std::string& prefix, const OptimizerConfig& config,
                    int64_t rounds, Faults& faults) {
  const FieldDescriptor* const family = FamilyFieldOf(config);
  if (family != nullptr) {
    CheckFamily(absl::StrCat(prefix, family->name(), "."),
                config.GetReflection()->GetMessage(config, family), faults);
    CheckTogether(prefix, config, faults);
  }
  faults.CheckRange(prefix + "optimism", config.optimism(), 0.0, kMaxOptimism);
  faults.CheckRange(prefix + "lookahead.period", config.lookahead().period(), 0,
                    1'000'000);
  faults.CheckPositive(prefix + "lookahead.rate", config.lookahead().rate(), 1);
  CheckOptimizerSchedule(prefix + "rate_schedule.", config.rate_schedule(),
                         rounds, faults);
  faults.CheckRange(prefix + "base_batch_size", config.base_batch_size(), 1,
                    kMaxStepBatch);
  CheckGroups(prefix, config, faults);
}

}  // namespace gandem
