// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/search/search_reasons.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files/quantities.h"
#include "scaling_manager/planner/model/profile_probes.h"

namespace gandem {
namespace {

// Less is not worth a sentence, and within the error of the model.
constexpr double kSpeedupWorthSaying = 1.02;

std::string Percent(double share) {
  return absl::StrFormat("%.0f %%", 100 * share);
}

const Prediction& PredictionOf(const ScoredChoice& scored) {
  return scored.candidate.prediction();
}

const ScoredChoice* FirstWith(std::span<const ScoredChoice> shown,
                              bool colocated) {
  const auto at =
      std::ranges::find_if(shown, [colocated](const ScoredChoice& scored) {
        return scored.choice.colocated == colocated;
      });
  return at == shown.end() ? nullptr : &*at;
}

std::string ImagesText(const ScoredChoice& scored) {
  return absl::StrCat(NumberText(PredictionOf(scored).images_per_second()),
                      " images/s at ", NumberText(scored.images.factor), " (",
                      NumberText(scored.images.low), " to ",
                      NumberText(scored.images.high),
                      ") times the images of the best synchronous run");
}

std::string WhyFirst(std::span<const ScoredChoice> shown) {
  const ScoredChoice& first = shown.front();
  const ScoredChoice* const colocated = FirstWith(shown, true);
  const ScoredChoice* const decoupled = FirstWith(shown, false);
  if (first.choice.colocated) {
    if (decoupled == nullptr) {
      return absl::StrCat(
          "do not decouple here: no decoupled candidate fits; colocated has ",
          ImagesText(first));
    }
    return absl::StrCat("do not decouple here: colocated has ",
                        ImagesText(first), ", the best decoupled candidate (",
                        decoupled->candidate.name(), ") ",
                        ImagesText(*decoupled), ", which takes ",
                        NumberText(PredictionOf(*decoupled).time_to_quality() /
                                   PredictionOf(first).time_to_quality()),
                        " times as long to the same quality");
  }
  std::string text = absl::StrCat("decouple: ", ImagesText(first));
  if (colocated != nullptr) {
    absl::StrAppend(&text, "; the best colocated candidate (",
                    colocated->candidate.name(), ") has ",
                    ImagesText(*colocated), " and takes ",
                    NumberText(PredictionOf(*colocated).time_to_quality() /
                               PredictionOf(first).time_to_quality()),
                    " times as long to the same quality");
  }
  return text;
}

// The mean says that it is better, the interval does not.
std::string Doubt(std::span<const ScoredChoice> shown) {
  const ScoredChoice* const colocated = FirstWith(shown, true);
  const ScoredChoice& first = shown.front();
  if (colocated == nullptr || first.choice.colocated) return "";
  const auto seconds = [](const ScoredChoice& scored, double images) {
    return images / PredictionOf(scored).images_per_second();
  };
  if (seconds(first, first.images.high) <=
      seconds(*colocated, colocated->images.low)) {
    return "";
  }
  return "the intervals of images needed overlap: that it is better than "
         "colocated is likely, not certain (`gandem trials` tries it)";
}

// The profile of a machine that computes a role twice as fast.
void HalveComputing(Role role, PlanRequest& request) {
  for (Probe& probe : *request.profile.mutable_probes()) {
    if (probe.settings().role() == role) ScaleProbe(0.5, probe);
  }
}

bool IsCollective(TransferProfile::Kind kind) {
  return kind == TransferProfile::COLLECTIVE_MEMORY ||
         kind == TransferProfile::COLLECTIVE_TCP;
}

void SpeedUpTransfers(bool collective, PlanRequest& request) {
  for (TransferProfile& transfer : *request.profile.mutable_transfers()) {
    if (IsCollective(transfer.kind()) != collective) continue;
    transfer.set_bytes_per_second(2 * transfer.bytes_per_second());
    transfer.set_latency_seconds(transfer.latency_seconds() / 2);
    transfer.set_compute_seconds_per_byte(transfer.compute_seconds_per_byte() /
                                          2);
  }
}

struct Doubling {
  const char* what;
  std::function<void(PlanRequest&)> apply;
};

std::vector<Doubling> DoublingsFor(bool colocated) {
  std::vector<Doubling> doublings;
  if (colocated) {
    doublings.push_back(
        {"the speed of computing", [](PlanRequest& request) {
           for (const Role role : {GENERATOR, DISCRIMINATOR, COLOCATED}) {
             HalveComputing(role, request);
           }
         }});
  } else {
    doublings.push_back(
        {"the speed of the generator's devices",
         [](PlanRequest& request) { HalveComputing(GENERATOR, request); }});
    doublings.push_back(
        {"the speed of the discriminator's devices",
         [](PlanRequest& request) { HalveComputing(DISCRIMINATOR, request); }});
    doublings.push_back({"the speed of the exchange", [](PlanRequest& request) {
                           SpeedUpTransfers(/*collective=*/false, request);
                         }});
    doublings.push_back(
        {"the speed of sums between workers", [](PlanRequest& request) {
           SpeedUpTransfers(/*collective=*/true, request);
         }});
    doublings.push_back({"the link's speed", [](PlanRequest& request) {
                           Link& link = *request.machines.mutable_link();
                           link.set_bytes_per_second(2 *
                                                     link.bytes_per_second());
                         }});
  }
  doublings.push_back(
      {"the speed of decoding real images", [](PlanRequest& request) {
         request.profile.set_images_per_decode_thread_second(
             2 * request.profile.images_per_decode_thread_second());
       }});
  return doublings;
}

// What is in the way of the first candidate.
std::string Bottleneck(const ScoredChoice& first) {
  const Prediction& prediction = PredictionOf(first);
  return absl::StrCat(
      "bottleneck: ", prediction.bottleneck(), "; the generator waits ",
      Percent(prediction.generator_wait()), " of a round, the discriminator ",
      Percent(prediction.discriminator_wait()));
}

std::string WhatWouldHelp(const ScoredChoice& first, const PlanRequest& request,
                          const PlanModels& models) {
  const std::vector<Doubled> doubled =
      SpeedupsOf(first.candidate, request, models);
  std::string text;
  for (const Doubled& item : doubled) {
    if (item.speedup < kSpeedupWorthSaying) break;
    absl::StrAppend(&text, text.empty() ? "to be faster: twice " : "; twice ",
                    item.what, " makes it ", NumberText(item.speedup),
                    " times as fast");
  }
  if (!text.empty()) return text;
  return "to be faster: nothing helps by itself, whatever is doubled; more "
         "devices or other batches might";
}

std::string BestTooLarge(const ScoredChoice& first,
                         std::span<const ScoredChoice* const> too_large) {
  const auto better = std::ranges::find_if(
      too_large,
      [&first](const ScoredChoice* other) { return other->cost < first.cost; });
  if (better == too_large.end()) return "";
  return absl::StrCat("memory is binding: with ",
                      BytesText((*better)->memory.bytes), " in place of ",
                      BytesText((*better)->memory.limit), " on ",
                      (*better)->memory.where, " a better candidate would fit");
}

}  // namespace

std::vector<Doubled> SpeedupsOf(const Candidate& candidate,
                                const PlanRequest& request,
                                const PlanModels& models) {
  std::vector<Doubled> result;
  const Placement& placement = candidate.placement();
  const bool colocated = placement.workers(0).role() == COLOCATED;
  for (const Doubling& doubling : DoublingsFor(colocated)) {
    PlanRequest changed = request;
    doubling.apply(changed);
    const auto faster = models.predict(changed.profile, changed.machines,
                                       candidate.config(), placement);
    if (!faster.ok()) continue;
    result.push_back(
        {doubling.what, faster->images_per_second() /
                            candidate.prediction().images_per_second()});
  }
  std::ranges::stable_sort(result, [](const Doubled& a, const Doubled& b) {
    return a.speedup > b.speedup;
  });
  return result;
}

std::vector<std::string> ReasonsFor(
    std::span<const ScoredChoice> shown,
    std::span<const ScoredChoice* const> too_large, const PlanRequest& request,
    const PlanModels& models) {
  const ScoredChoice& first = shown.front();
  std::vector<std::string> reasons = {WhyFirst(shown), Bottleneck(first),
                                      WhatWouldHelp(first, request, models)};
  for (std::string& reason : std::vector<std::string>{
           Doubt(shown), BestTooLarge(first, too_large), first.images.why}) {
    if (!reason.empty()) reasons.push_back(std::move(reason));
  }
  reasons.insert(reasons.end(), first.optimizer_reasons.begin(),
                 first.optimizer_reasons.end());
  return reasons;
}

std::vector<std::string> ReasonsAsItIs(const ScoredChoice& scored,
                                       const PlanRequest& request,
                                       const PlanModels& models) {
  std::string first = "as the recipe has it: nothing else was tried";
  if (!scored.Fits()) {
    absl::StrAppend(&first,
                    "; it does not fit the memory: ", scored.memory.where,
                    " has ", BytesText(scored.memory.limit), ", and it needs ",
                    BytesText(scored.memory.bytes));
  }
  return {std::move(first), Bottleneck(scored),
          WhatWouldHelp(scored, request, models), scored.images.why};
}

absl::Status NoneFits(const ScoredChoice& nearly, const SearchChoice& base,
                      const PlanRequest& request) {
  return absl::InvalidArgumentError(absl::StrCat(
      "no plan fits the memory: ", nearly.memory.where, " has ",
      BytesText(nearly.memory.limit), ", and what was found to need least (",
      NameOf(request.recipe, nearly.choice, base), ") needs ",
      BytesText(nearly.memory.bytes), ": give it that much (--memory ",
      (nearly.memory.bytes + (1 << 20) - 1) >> 20, "MiB, or ",
      nearly.memory.field,
      " of --hosts), or make batch_size of both roles or the networks "
      "smaller"));
}

}  // namespace gandem
