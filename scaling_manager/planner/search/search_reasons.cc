// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/search/search_reasons.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files/quantities.h"

namespace gandem {
namespace {

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

std::string Bottleneck(const ScoredChoice& first) {
  const Prediction& prediction = PredictionOf(first);
  return absl::StrCat(
      "bottleneck: ", prediction.bottleneck(), "; the generator waits ",
      Percent(prediction.generator_wait()), " of a round, the discriminator ",
      Percent(prediction.discriminator_wait()));
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

std::vector<std::string> ReasonsFor(
    std::span<const ScoredChoice> shown,
    std::span<const ScoredChoice* const> too_large) {
  const ScoredChoice& first = shown.front();
  std::vector<std::string> reasons = {WhyFirst(shown), Bottleneck(first)};
  for (const std::string& reason :
       {BestTooLarge(first, too_large), first.images.why}) {
    if (!reason.empty()) reasons.push_back(reason);
  }
  reasons.insert(reasons.end(), first.optimizer_reasons.begin(),
                 first.optimizer_reasons.end());
  return reasons;
}

std::vector<std::string> ReasonsAsItIs(const ScoredChoice& scored) {
  std::string first = "the recipe itself: no other settings were tried";
  if (!scored.Fits()) {
    absl::StrAppend(&first,
                    "; it does not fit the memory: ", scored.memory.where,
                    " has ", BytesText(scored.memory.limit), ", and it needs ",
                    BytesText(scored.memory.bytes));
  }
  return {std::move(first), Bottleneck(scored), scored.images.why};
}

absl::Status NoneFits(const ScoredChoice& nearly, const SearchChoice& base,
                      const PlanRequest& request) {
  return absl::InvalidArgumentError(absl::StrCat(
      "no plan fits the memory: ", nearly.memory.where, " has ",
      BytesText(nearly.memory.limit), ", and the smallest candidate (",
      NameOf(request.recipe, nearly.choice, base), ") needs ",
      BytesText(nearly.memory.bytes), ": give it that much (--memory ",
      (nearly.memory.bytes + (1 << 20) - 1) >> 20, "MiB, or ",
      nearly.memory.field,
      " of --hosts), or make batch_size of both roles or the networks "
      "smaller"));
}

}  // namespace gandem
