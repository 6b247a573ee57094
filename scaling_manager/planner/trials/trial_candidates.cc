// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/trials/trial_candidates.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/optimizer_validate.h"
#include "common/config/run_config.h"
#include "common/files/text_proto.h"
#include "common/status.h"

namespace gandem {
namespace {

using Sets = std::vector<std::string>;

// The numbers of a role's family, whichever it is.
class RoleNumbers {
 public:
  RoleNumbers(std::string role, const OptimizerConfig& optimizer)
      : role_(std::move(role)) {
    const auto& reflection = *optimizer.GetReflection();
    const auto* const family = FamilyFieldOf(optimizer);
    family_ = family == nullptr ? "adam" : family->name();
    message_ =
        family == nullptr
            ? static_cast<const google::protobuf::Message*>(&optimizer.adam())
            : &reflection.GetMessage(optimizer, family);
  }

  // Nothing where the family has no such number. AdaBelief's beta1 is above 0,
  // and Lion's is another thing.
  Sets Set(const std::string& number, double value) const {
    const bool is_other =
        number == "beta1" && (family_ == "adabelief" || family_ == "lion");
    if (is_other || FieldOf(number) == nullptr) return {};
    return {
        absl::StrCat(role_, ".optimizer.", family_, ".", number, "=", value)};
  }
  Sets TimesRate(double factor) const {
    const auto* const field = FieldOf("learning_rate");
    return Set("learning_rate",
               factor * message_->GetReflection()->GetDouble(*message_, field));
  }
  Sets Optimism(const std::string& rule, double number = 0) const {
    return {absl::StrCat(role_, ".optimizer.optimism_rule=", rule),
            absl::StrCat(role_, ".optimizer.optimism=", number)};
  }

 private:
  const google::protobuf::FieldDescriptor* FieldOf(
      const std::string& number) const {
    return message_->GetDescriptor()->FindFieldByName(number);
  }

  std::string role_;
  std::string family_;
  const google::protobuf::Message* message_;
};

Sets Joined(std::initializer_list<Sets> parts) {
  Sets all;
  for (const Sets& part : parts)
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

Trial TrialOf(std::string name, Sets sets) {
  Trial trial;
  trial.set_name(std::move(name));
  for (std::string& set : sets) trial.add_sets(std::move(set));
  return trial;
}

Trial Synchronous(const RunConfig& recipe, const RoleNumbers& generator,
                  const RoleNumbers& discriminator) {
  Sets sets = Joined({{"schedule.lag=0"},
                      generator.Optimism("FIXED"),
                      discriminator.Optimism("FIXED"),
                      generator.Set("beta1", 0),
                      discriminator.Set("beta1", 0)});
  if (recipe.schedule().feedback() == ScheduleConfig::FUSED) {
    sets.push_back("schedule.feedback=IMAGE_GRADIENT");
    sets.push_back("schedule.fused_backward=AUTO");
  }
  if (recipe.schedule().consistency() == ScheduleConfig::BOUNDED) {
    sets.push_back("schedule.consistency=EXACT");
    sets.push_back("schedule.max_samples_per_image=1");
  }
  Trial trial = TrialOf("synchronous", std::move(sets));
  trial.set_is_reference(true);
  return trial;
}

std::vector<Trial> TrialList(const RunConfig& recipe) {
  const RoleNumbers g("generator", recipe.generator().optimizer());
  const RoleNumbers d("discriminator", recipe.discriminator().optimizer());
  const bool has_lag = recipe.schedule().lag() > 0;
  std::vector<Trial> list = {TrialOf("recipe", {}), Synchronous(recipe, g, d)};
  const Sets rule =
      has_lag ? Joined({g.Optimism("LAG_MATCHED"), d.Optimism("LAG_MATCHED")})
              : Sets();
  const auto with_beta1 = [&](double beta1) {
    return Joined({rule, g.Set("beta1", beta1), d.Set("beta1", beta1)});
  };
  const Sets matched = with_beta1(0);
  const std::string name = has_lag ? "lag-matched" : "beta1 0";
  const auto add = [&](const std::string& more, const Sets& sets) {
    list.push_back(TrialOf(more.empty() ? name : absl::StrCat(name, ", ", more),
                           Joined({matched, sets})));
  };
  add("", {});
  add("discriminator rate x 2", d.TimesRate(2));
  add("generator rate / 2", g.TimesRate(0.5));
  list.push_back(TrialOf(has_lag ? "lag-matched, beta1 0.5" : "beta1 0.5",
                         with_beta1(0.5)));
  add("both rates / 2", Joined({g.TimesRate(0.5), d.TimesRate(0.5)}));
  if (has_lag) {
    list.push_back(TrialOf("matched by the generator",
                           Joined({matched, d.Optimism("FIXED")})));
    list.push_back(TrialOf("matched by the discriminator",
                           Joined({matched, g.Optimism("FIXED")})));
  }
  add("beta2 0.9", Joined({g.Set("beta2", 0.9), d.Set("beta2", 0.9)}));
  add("generator rate x 2", g.TimesRate(2));
  add("discriminator rate / 2", d.TimesRate(0.5));
  add("beta2 0.99", Joined({g.Set("beta2", 0.99), d.Set("beta2", 0.99)}));
  add("both rates x 2", Joined({g.TimesRate(2), d.TimesRate(2)}));
  return list;
}

}  // namespace

absl::StatusOr<RunConfig> ConfigOf(const Trial& trial,
                                   const RunConfig& recipe) {
  RunConfig config = recipe;
  for (const std::string& set : trial.sets()) {
    GANDEM_RETURN_IF_ERROR(
        Annotate(SetField(set, config), absl::StrCat("trial ", trial.name())));
  }
  GANDEM_RETURN_IF_ERROR(Annotate(ValidateRunConfig(config),
                                  absl::StrCat("trial ", trial.name())));
  return config;
}

void AddTrials(const RunConfig& recipe, int count, Trials& trials) {
  std::set<std::string> seen;
  for (Trial& trial : TrialList(recipe)) {
    if (trials.trials_size() >= count) return;
    const auto config = ConfigOf(trial, recipe);
    // An optimizer whose rate is at its limit, AdaBelief without beta1 ...
    if (!config.ok()) continue;
    if (!seen.insert(EffectiveConfigText(*config)).second) {
      // The recipe, which is the first, is the synchronous run itself.
      if (trial.is_reference()) {
        trials.mutable_trials(0)->set_is_reference(true);
      }
      continue;
    }
    *trials.add_trials() = std::move(trial);
  }
}

}  // namespace gandem
