// SPDX-License-Identifier: Apache-2.0
#include "common/config/parameter_patterns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/files/text_proto.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string>& PatternNames() {
  static const auto* const names = new std::vector<std::string>{
      "blocks.0.weight", "blocks.0.bias", "blocks.10.weight",
      "blocks.10.bias",  "linear.weight", "linear.bias"};
  return *names;
}

OptimizerConfig GroupsOf(const std::string& text) {
  OptimizerConfig config;
  EXPECT_OK(ParseTextProto(text, "config", config));
  return config;
}

absl::Status CheckPatterns(const std::vector<std::string>& freeze,
                           const std::string& groups) {
  return CheckPatterns("generator", freeze, GroupsOf(groups), PatternNames());
}

TEST(ParameterPatternsTest, AStarMatchesAnyTextAndAQuestionMarkOneCharacter) {
  EXPECT_TRUE(MatchesPattern("blocks.0.bias", "blocks.0.bias"));
  EXPECT_FALSE(MatchesPattern("blocks.0.bias", "blocks.0.bia"));
  EXPECT_FALSE(MatchesPattern("blocks.0.bia", "blocks.0.bias"));
  EXPECT_TRUE(MatchesPattern("blocks.0.*", "blocks.0.conv1.bias"));
  EXPECT_FALSE(MatchesPattern("blocks.0.*", "blocks.01.bias"));
  EXPECT_FALSE(MatchesPattern("blocks.0.*", "ablocks.0.bias"));
  EXPECT_TRUE(MatchesPattern("*.bias", "blocks.0.conv1.bias"));
  EXPECT_FALSE(MatchesPattern("*.bias", "blocks.0.bias_u"));
  EXPECT_TRUE(MatchesPattern("*", ""));
  EXPECT_TRUE(MatchesPattern("**", "x"));
  EXPECT_FALSE(MatchesPattern("?", ""));
  EXPECT_FALSE(MatchesPattern("", "x"));
  EXPECT_TRUE(MatchesPattern("blocks.?.bias", "blocks.7.bias"));
  EXPECT_FALSE(MatchesPattern("blocks.?.bias", "blocks.17.bias"));
  // The text after a star does not match at its first candidate position.
  EXPECT_TRUE(MatchesPattern("*aab", "aaaab"));
  EXPECT_TRUE(MatchesPattern("a*b*ab?", "aabbabab!"));
  EXPECT_FALSE(MatchesPattern("a*b*c", "abbbbd"));
}

TEST(ParameterPatternsTest, TheFirstMatchingGroupOwnsAParameter) {
  const OptimizerConfig config = GroupsOf(
      "group { parameters: 'blocks.0.*' learning_rate_factor: 0.1 } "
      "group { parameters: 'blocks.*' learning_rate_factor: 3 }");
  EXPECT_EQ(RateFactorOf(config, "blocks.0.bias"), 0.1);
  EXPECT_EQ(RateFactorOf(config, "blocks.10.bias"), 3);
  EXPECT_EQ(RateFactorOf(config, "linear.bias"), 1);
}

TEST(ParameterPatternsTest, AnyMatchingPatternFreezesAParameter) {
  const std::vector<std::string> freeze = {"linear.*", "*.weight"};
  EXPECT_TRUE(IsFrozen(freeze, "blocks.0.weight"));
  EXPECT_TRUE(IsFrozen(freeze, "linear.bias"));
  EXPECT_FALSE(IsFrozen(freeze, "blocks.0.bias"));
  EXPECT_FALSE(IsFrozen({}, "blocks.0.bias"));
}

TEST(ParameterPatternsTest, MatchingPatternsAreAccepted) {
  EXPECT_OK(CheckPatterns({}, ""));
  EXPECT_OK(CheckPatterns({"blocks.*", "*.weight"},
                          "group { parameters: 'linear.*' }"));
}

TEST(ParameterPatternsTest,
     PatternsWithoutAMatchAreReportedWithTheNearestName) {
  EXPECT_THAT(
      CheckPatterns({"linear.*", "block.0.*", "*.biass"},
                    "group { parameters: 'lineer.bias' }"),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          AllOf(Not(HasSubstr("freeze[0]")),
                HasSubstr("generator.freeze[1] \"block.0.*\" matches none of "
                          "the network's 6 parameters; the nearest are "
                          "blocks.0.weight, blocks.0.bias, "),
                HasSubstr("generator.freeze[2] \"*.biass\" matches none of the "
                          "network's 6 parameters; the nearest are "
                          "blocks.0.bias, blocks.10.bias, linear.bias"),
                HasSubstr("generator.optimizer.group[0].parameters "
                          "\"lineer.bias\" matches none of the network's 6 "
                          "parameters; the nearest are linear.bias, "))));
}

TEST(ParameterPatternsTest, AGroupWithoutRemainingParametersIsRefused) {
  EXPECT_THAT(
      CheckPatterns({"linear.*"}, "group { parameters: 'linear.bias' }"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("group[0].parameters \"linear.bias\" has no "
                         "parameter left")));
  EXPECT_THAT(CheckPatterns({},
                            "group { parameters: '*' } "
                            "group { parameters: 'linear.*' }"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(Not(HasSubstr("group[0]")),
                             HasSubstr("group[1].parameters \"linear.*\""))));
}

TEST(ParameterPatternsTest, AtLeastOneParameterMustBeTrained) {
  EXPECT_THAT(CheckPatterns({"*.bias", "*.weight"}, ""),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("generator.freeze leaves none of the "
                                 "network's 6 parameters to train")));
}

}  // namespace
}  // namespace gandem
