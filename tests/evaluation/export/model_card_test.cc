// SPDX-License-Identifier: Apache-2.0
#include "evaluation/export/model_card.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gandem {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

ModelCardFacts SmallFacts() {
  return {.family = "dcgan",
          .file = "generator.pt",
          .usage = "import torch\n",
          .step = 40,
          .rounds = 100,
          .real_images = 2560,
          .noise_dim = 6,
          .num_parameters = 1234,
          .image = {.channels = 3, .height = 32, .width = 32},
          .recipe = "seed: 5\n",
          .grid = "generator.png"};
}

TEST(ModelCardTest, BeginsWithWhatHubsRead) {
  EXPECT_THAT(ModelCardText(SmallFacts()),
              StartsWith("---\n"
                         "library_name: pytorch\n"
                         "pipeline_tag: unconditional-image-generation\n"
                         "tags:\n- gan\n- gandem\n- dcgan\n---\n"));
}

TEST(ModelCardTest, DescribesTheNetworkAndItsTraining) {
  const std::string text = ModelCardText(SmallFacts());
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("3 x 32 x 32"), HasSubstr("`noise` float32 [N, 6]"),
            HasSubstr("parameters: 1234, their exponential moving average"),
            HasSubstr("40 of 100 rounds; the discriminator saw 2560"),
            HasSubstr("](generator.png)"), HasSubstr("import torch\n```"),
            HasSubstr("seed: 5\n```"), HasSubstr("has not been evaluated")));
  EXPECT_THAT(text, Not(HasSubstr("labels")));
  EXPECT_TRUE(IsModelCard(text));
  EXPECT_FALSE(IsModelCard("# My project\n"));
}

TEST(ModelCardTest, ListsLabelsRawWeightsAndMetrics) {
  ModelCardFacts facts = SmallFacts();
  facts.num_classes = 10;
  facts.is_average = false;
  MetricCard card;
  Metric& metric = *card.add_metrics();
  metric.set_name("FD(small)");
  metric.set_value(12.25);
  metric.set_num_images(5000);
  card.mutable_reference()->set_name("fashion");
  card.mutable_reference()->set_split("train");
  card.mutable_features()->set_network("small");
  card.add_warnings("few images");
  facts.cards = {card, card};
  const std::string text = ModelCardText(facts);
  EXPECT_THAT(text, AllOf(HasSubstr("metrics:\n- fd\n---"),
                          HasSubstr("`labels` int64 [N] in [0, 10)"),
                          HasSubstr("as the last step left them"),
                          HasSubstr("| FD(small) | 12.25 | 5000 | fashion "
                                    "train | small |"),
                          HasSubstr("- few images")));
}

// A comment in the recipe must not end the card's code block.
TEST(ModelCardTest, ARecipeStaysInItsBlock) {
  ModelCardFacts facts = SmallFacts();
  facts.recipe = "# ```\n# <b>\n";
  EXPECT_THAT(ModelCardText(facts), HasSubstr("# '''\n# <b>\n```\n"));
}

}  // namespace
}  // namespace gandem
