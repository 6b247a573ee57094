// SPDX-License-Identifier: Apache-2.0
#include "evaluation/export/model_card.h"

#include <torch/version.h>

#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "common/files/metric_card.h"
#include "common/version.h"

namespace gandem {
namespace {

constexpr absl::string_view kMark = "<!-- Written by gandem export. -->";

// Name of the metric on model hubs: "fid", "kid".
std::string HubName(const std::string& metric) {
  return absl::AsciiStrToLower(metric.substr(0, metric.find('(')));
}

std::string FrontMatter(const ModelCardFacts& facts) {
  std::string text = absl::StrCat(
      "---\nlibrary_name: pytorch\npipeline_tag: ",
      facts.translates ? "image-to-image" : "unconditional-image-generation",
      "\ntags:\n- gan\n- gandem\n- ", facts.family, "\n");
  std::set<std::string> metrics;
  for (const MetricCard& card : facts.cards) {
    for (const Metric& metric : card.metrics()) {
      metrics.insert(HubName(metric.name()));
    }
  }
  if (!metrics.empty()) {
    absl::StrAppend(&text, "metrics:\n- ", absl::StrJoin(metrics, "\n- "),
                    "\n");
  }
  return text + "---\n";
}

std::string InputsText(const ModelCardFacts& facts) {
  std::vector<std::string> inputs;
  if (facts.noise_dim > 0) {
    inputs.push_back(
        absl::StrCat("`noise` float32 [N, ", facts.noise_dim, "], normal"));
  }
  if (facts.num_classes > 0) {
    inputs.push_back(
        absl::StrCat("`labels` int64 [N] in [0, ", facts.num_classes, ")"));
  }
  if (facts.translates) {
    inputs.push_back("`images` float32 [N, C, H, W] in [-1, 1]");
  }
  return absl::StrJoin(inputs, ", ");
}

void AddMetrics(const ModelCardFacts& facts, std::string& text) {
  absl::StrAppend(&text, "\n## Evaluation\n\n");
  if (facts.cards.empty()) {
    absl::StrAppend(&text,
                    "This checkpoint has not been evaluated (`gandem "
                    "evaluate`).\n");
    return;
  }
  absl::StrAppend(&text,
                  "| metric | value | images | reference | features |\n"
                  "|---|---|---|---|---|\n");
  for (const MetricCard& card : facts.cards) {
    for (const Metric& metric : card.metrics()) {
      absl::StrAppendFormat(
          &text, "| %s | %s | %d | %s %s | %s |\n", metric.name(),
          MetricValueText(metric), metric.num_images(), card.reference().name(),
          card.reference().split(), card.features().network());
    }
  }
  std::set<std::string> warnings;
  for (const MetricCard& card : facts.cards) {
    warnings.insert(card.warnings().begin(), card.warnings().end());
  }
  for (const std::string& warning : warnings) {
    absl::StrAppend(&text, "\n- ", warning);
  }
  if (!warnings.empty()) absl::StrAppend(&text, "\n");
}

}  // namespace

std::string ModelCardText(const ModelCardFacts& facts) {
  std::string text = FrontMatter(facts);
  absl::StrAppend(&text, kMark, "\n\n# A ", facts.family, " generator\n\n");
  if (!facts.grid.empty()) {
    absl::StrAppend(&text, "![generated images](", facts.grid, ")\n\n");
  }
  absl::StrAppendFormat(
      &text,
      "- images: %d x %d x %d, float32 in (-1, 1)\n"
      "- inputs: %s\n"
      "- parameters: %d, %s\n"
      "- trained for %d of %d rounds; the discriminator saw %d real images\n"
      "- made by gandem %s with LibTorch %s\n",
      facts.image.channels, facts.image.height, facts.image.width,
      InputsText(facts), facts.num_parameters,
      facts.is_average ? "their exponential moving average"
                       : "as the last step left them",
      facts.step, facts.rounds, facts.real_images, GandemVersion(),
      TORCH_VERSION);
  absl::StrAppend(&text, "\n## Use\n\n```python\n", facts.usage, "```\n");
  AddMetrics(facts, text);
  // Backticks in the recipe must not end its code block.
  absl::StrAppend(&text, "\n## Recipe\n\n`gandem train` with\n\n```protobuf\n",
                  absl::StrReplaceAll(facts.recipe, {{"```", "'''"}}), "```\n");
  return text;
}

bool IsModelCard(const std::string& text) {
  return absl::StrContains(text, kMark);
}

}  // namespace gandem
