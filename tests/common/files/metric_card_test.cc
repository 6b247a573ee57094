// SPDX-License-Identifier: Apache-2.0
#include "common/files/metric_card.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

MetricCard SmallCard() {
  MetricCard card;
  Metric& distance = *card.add_metrics();
  distance.set_name("FD(net)");
  distance.set_value(41.2684);
  distance.set_sd(0.3149);
  distance.set_predicted_bias(2.5);
  Metric& recall = *card.add_metrics();
  recall.set_name("recall(net)");
  recall.set_value(0.5);
  card.mutable_images()->set_name("runs/a");
  card.mutable_images()->set_num_images(1000);
  card.mutable_images()->mutable_generator()->set_step(500);
  card.mutable_features()->set_network("net");
  card.add_warnings("few images");
  card.set_unix_seconds(1.7e9);
  return card;
}

TEST(MetricCardTest, CardsAreReadAsTextAndJson) {
  const gandem::testing::TempDir dir;
  const MetricCard card = SmallCard();
  ASSERT_OK(WriteMetricCard(dir / "card", card));
  EXPECT_THAT(*ListDirectory(dir.path()),
              ElementsAre("card.json", "card.textproto"));
  ASSERT_OK_AND_ASSIGN(const MetricCard read,
                       ReadMetricCard(dir / "card.textproto"));
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(card, read));
  ASSERT_OK_AND_ASSIGN(const std::string json, ReadFile(dir / "card.json"));
  const auto parsed = nlohmann::json::parse(json);
  EXPECT_EQ(parsed.at("metrics")[0].at("value"), 41.2684);
  EXPECT_EQ(parsed.at("images").at("generator").at("step"), 500);
  EXPECT_FALSE(parsed.at("metrics")[1].contains("sd"));
}

TEST(MetricCardTest, InvalidCardsAreRefused) {
  const gandem::testing::TempDir dir;
  EXPECT_THAT(ReadMetricCard(dir / "none.textproto"),
              StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK(WriteFile(dir / "bad.textproto", "metrics: 3"));
  EXPECT_THAT(ReadMetricCard(dir / "bad.textproto"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("bad.text")));
}

TEST(MetricCardTest, ACardOfAnEarlierVersionIsRead) {
  const gandem::testing::TempDir dir;
  ASSERT_OK(WriteFile(dir / "old.textproto",
                      "features { network: \"net\" trial { speed: 2 } rank: 7 "
                      "effective_rank: 1.5 density: 1 }"));
  ASSERT_OK_AND_ASSIGN(const MetricCard card,
                       ReadMetricCard(dir / "old.textproto"));
  EXPECT_EQ(card.features().network(), "net");
}

TEST(MetricCardTest, TheTextIsReadable) {
  const MetricCard card = SmallCard();
  EXPECT_EQ(MetricValueText(card.metrics(0)), "41.27 +- 0.31");
  EXPECT_EQ(MetricValueText(card.metrics(1)), "0.5");
  const std::string text = MetricCardText(card);
  EXPECT_THAT(text, HasSubstr("runs/a, 1000 images, step 500, seed 0\n"));
  EXPECT_THAT(text, HasSubstr("2.5 is sampling bias"));
  EXPECT_THAT(text, HasSubstr("warning: few images\n"));
  EXPECT_THAT(text, Not(HasSubstr("reference")));
}

// Statistics of pytorch-fid lack these facts.
TEST(MetricCardTest, TheTextOmitsUnknownFacts) {
  MetricCard card = SmallCard();
  card.mutable_images()->set_num_images(0);
  card.mutable_features()->clear_sha256();
  const std::string text = MetricCardText(card);
  EXPECT_THAT(text, HasSubstr("runs/a, of an unknown number of images,"));
  EXPECT_THAT(text, Not(HasSubstr("sha256")));
}

TEST(MetricCardTest, ScalarsAreNamedForTensorBoard) {
  const gandem::testing::TempDir dir;
  ASSERT_OK(AddCardScalars(dir / "tensorboard", SmallCard()));
  ASSERT_OK_AND_ASSIGN(const auto names, ListDirectory(dir / "tensorboard"));
  ASSERT_EQ(names.size(), 1u);
  ASSERT_OK_AND_ASSIGN(
      const std::string events,
      ReadFile(absl::StrCat(dir / "tensorboard", "/", names[0])));
  EXPECT_THAT(events, HasSubstr("evaluation/FD(net)"));
  EXPECT_THAT(events, HasSubstr("evaluation/recall(net)"));
}

}  // namespace
}  // namespace gandem
