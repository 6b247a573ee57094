// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/quality/optimizer_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/config/run_config.h"
#include "common/files/text_proto.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

RunConfig RulesConfig(const std::string& text) {
  RunConfig config;
  EXPECT_OK(ParseTextProto("rounds: 10 " + text, "rules", config));
  return config;
}

TEST(OptimizerRulesTest, OnlyTheLagChangesTheRecipesValues) {
  RunConfig config = RulesConfig(R"(
    schedule { lag: 1 }
    generator {
      network { mlp {} }
      optimizer { adam { learning_rate: 3e-4 beta1: 0.5 } }
    }
    discriminator {
      network { mlp {} }
      optimizer { adabelief { learning_rate: 1e-3 } }
    })");
  const std::vector<std::string> reasons = ChooseOptimizers(config);
  EXPECT_EQ(config.generator().optimizer().adam().learning_rate(), 3e-4);
  EXPECT_EQ(config.generator().optimizer().adam().beta1(), 0);
  EXPECT_EQ(config.discriminator().optimizer().adabelief().learning_rate(),
            1e-3);
  EXPECT_EQ(config.discriminator().optimizer().adabelief().beta1(), 0.5);
  EXPECT_EQ(config.discriminator().optimizer().optimism_rule(),
            OptimizerConfig::LAG_MATCHED);
  EXPECT_THAT(reasons,
              Contains(HasSubstr("generator: beta1 0 in place of 0.5")));
  EXPECT_THAT(reasons, Contains(HasSubstr("compensate lag 1")));
  EXPECT_OK(ValidateRunConfig(config));
  const std::string text = config.DebugString();
  ChooseOptimizers(config);
  EXPECT_EQ(config.DebugString(), text);
}

// The default optimizer family is Adam.
TEST(OptimizerRulesTest, RolesWithoutAFamilyFollowAdam) {
  RunConfig config = RulesConfig(R"(
    schedule { lag: 2 }
    generator { network { mlp {} } batch_size: 64 }
    discriminator { network { mlp {} } batch_size: 64 })");
  RememberBatches(config);
  config.mutable_generator()->set_batch_size(128);
  config.mutable_discriminator()->set_batch_size(128);
  ChooseOptimizers(config);
  EXPECT_EQ(config.generator().optimizer().batch_scaling(), BATCH_SQRT);
  EXPECT_EQ(EffectiveConfig(config).generator().optimizer().optimism(), 1);
  EXPECT_OK(ValidateRunConfig(config));
}

TEST(OptimizerRulesTest, WithoutALagOnlyTheBatchMatters) {
  RunConfig config = RulesConfig(R"(
    schedule { lag: 0 }
    generator { batch_size: 64 optimizer { adam { beta1: 0.5 } } }
    discriminator { batch_size: 64 optimizer { sgd {} } })");
  RememberBatches(config);
  EXPECT_THAT(ChooseOptimizers(config), Not(Contains(HasSubstr("optimism"))));
  EXPECT_EQ(config.generator().optimizer().adam().beta1(), 0.5);
  EXPECT_EQ(config.generator().optimizer().optimism_rule(),
            OptimizerConfig::FIXED);
  EXPECT_EQ(config.generator().optimizer().batch_scaling(), BATCH_NONE);

  config.mutable_generator()->set_batch_size(256);
  config.mutable_discriminator()->set_batch_size(256);
  const std::vector<std::string> reasons = ChooseOptimizers(config);
  EXPECT_EQ(config.generator().optimizer().batch_scaling(), BATCH_SQRT);
  EXPECT_EQ(config.discriminator().optimizer().batch_scaling(), BATCH_LINEAR);
  EXPECT_EQ(config.generator().optimizer().base_batch_size(), 64);
  EXPECT_THAT(reasons,
              Contains(HasSubstr("from 64 to 256 by its square root")));
  RememberBatches(config);
  EXPECT_EQ(config.generator().optimizer().base_batch_size(), 64);
}

}  // namespace
}  // namespace gandem
