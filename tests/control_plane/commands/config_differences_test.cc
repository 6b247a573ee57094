// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/config_differences.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "common/config/run_config.h"

namespace gandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

RunConfig Config(const std::string& text) {
  RunConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return config;
}

TEST(ConfigDifferencesTest, NamesFieldAndBothValues) {
  EXPECT_THAT(
      ConfigDifferences(
          Config("rounds: 10 generator { batch_size: 64 device: 'cpu' }"),
          Config("rounds: 10 generator { batch_size: 32 device: 'cuda:0' }")),
      ElementsAre("generator.batch_size: 64, now 32",
                  "generator.device: \"cpu\", now \"cuda:0\""));
}

TEST(ConfigDifferencesTest, DefaultsAreNoDifference) {
  EXPECT_THAT(
      ConfigDifferences(Config(""), Config("seed: 1 schedule { lag: 1 }")),
      IsEmpty());
  EXPECT_THAT(ConfigDifferences(Config(""), Config("schedule { lag: 2 }")),
              ElementsAre("schedule.lag: 1, now 2"));
}

TEST(ConfigDifferencesTest, FieldsWithMayChangeMayDiffer) {
  EXPECT_THAT(ConfigDifferences(Config("rounds: 10"),
                                Config("name: 'b' rounds: 20"
                                       " checkpoint { every_rounds: 7 }"
                                       " samples { every_rounds: 3 }"
                                       " control { restart_budget: 1 }"
                                       " data { prefetch_batches: 9 }"
                                       " exchange { poll_seconds: 2 }")),
              IsEmpty());
}

TEST(ConfigDifferencesTest, WorkerCountsMayChangeWithANotice) {
  const RunConfig old_config =
      Config("generator { workers: 2 } discriminator { workers: 2 }");
  const RunConfig new_config = Config("discriminator { workers: 3 }");
  EXPECT_THAT(ConfigDifferences(old_config, new_config), IsEmpty());
  EXPECT_EQ(WorkersDifference(old_config, new_config),
            "resuming a run of 2 generator and 2 discriminator workers with 1 "
            "and 3: bits differ from what the old shape would give");
  EXPECT_EQ(WorkersDifference(new_config, new_config), "");
  EXPECT_EQ(WorkersDifference(Config(""), Config("rounds: 9")), "");
}

// More rounds would stretch a decay without an end and raise its rate.
TEST(ConfigDifferencesTest, MoreRoundsDoNotStretchADecay) {
  const std::string decay =
      " generator { optimizer { rate_schedule { shape: LINEAR } } }";
  const RunConfig first = EffectiveConfig(Config("rounds: 400" + decay));
  const RunConfig more = EffectiveConfig(Config("rounds: 800" + decay));
  EXPECT_THAT(ConfigDifferences(first, more),
              ElementsAre("generator.optimizer.rate_schedule."
                          "decay_until_round: 400, now 800"));
  EXPECT_THAT(DecayHint(first, more),
              HasSubstr("add --set generator.optimizer.rate_schedule."
                        "decay_until_round=400"));
  RunConfig told = more;
  told.mutable_generator()
      ->mutable_optimizer()
      ->mutable_rate_schedule()
      ->set_decay_until_round(400);
  EXPECT_THAT(ConfigDifferences(first, told), IsEmpty());
  EXPECT_EQ(DecayHint(first, told), "");
  EXPECT_THAT(ConfigDifferences(EffectiveConfig(Config("rounds: 400")),
                                EffectiveConfig(Config("rounds: 800"))),
              IsEmpty());
}

TEST(ConfigDifferencesTest, AnotherNetworkIsADifference) {
  EXPECT_THAT(
      ConfigDifferences(
          Config("generator { network { mlp { hidden: 8 hidden: 9 } } }"),
          Config("generator { network { mlp { hidden: 8 } } }")),
      ElementsAre("generator.network.mlp.hidden: [8, 9], now [8]"));
  EXPECT_THAT(
      ConfigDifferences(Config("generator { network { mlp { hidden: 8 } } }"),
                        Config("generator { network { dcgan { width: 8 } } }")),
      ElementsAre("generator.network.mlp: hidden: 8, now none",
                  "generator.network.dcgan: none, now width: 8"));
}

TEST(ConfigDifferencesTest, EnumsAreShownByName) {
  EXPECT_THAT(ConfigDifferences(Config(""), Config("loss: HINGE")),
              ElementsAre("loss: NON_SATURATING, now HINGE"));
}

}  // namespace
}  // namespace gandem
