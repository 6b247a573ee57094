// SPDX-License-Identifier: Apache-2.0
#include "common/config/optimizer_validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/config/field_ranges.h"
#include "common/files/text_proto.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::StatusIs;
using google::protobuf::FieldDescriptor;
using ::testing::HasSubstr;

constexpr int64_t kRounds = 100;

absl::Status CheckOptimizer(const std::string& text) {
  OptimizerConfig config;
  EXPECT_OK(ParseTextProto(text, "config", config)) << text;
  Faults faults("config");
  CheckRanges("g.", config, faults);
  CheckOptimizer("g.", config, kRounds, faults);
  return faults.ToStatus();
}

TEST(OptimizerValidateTest, DefaultsAreValid) {
  EXPECT_OK(CheckOptimizer(""));
  const auto& families =
      *OptimizerConfig::descriptor()->FindOneofByName("family");
  EXPECT_GE(families.field_count(), 10);
  for (int i = 0; i < families.field_count(); ++i) {
    EXPECT_OK(CheckOptimizer(families.field(i)->name() + " {}"));
  }
}

TEST(OptimizerValidateTest, NegativeHugeOrNanNumbersAreRefused) {
  const auto& families =
      *OptimizerConfig::descriptor()->FindOneofByName("family");
  int numbers = 0;
  for (int i = 0; i < families.field_count(); ++i) {
    const FieldDescriptor& family = *families.field(i);
    for (int k = 0; k < family.message_type()->field_count(); ++k) {
      const FieldDescriptor& field = *family.message_type()->field(k);
      if (field.cpp_type() != FieldDescriptor::CPPTYPE_DOUBLE) continue;
      ++numbers;
      for (const std::string value : {"-1", "1001", "nan"}) {
        EXPECT_THAT(
            CheckOptimizer(absl::StrCat(family.name(), " { ", field.name(),
                                        ": ", value, " }")),
            StatusIs(absl::StatusCode::kInvalidArgument,
                     HasSubstr(absl::StrCat("g.", family.name(), ".",
                                            field.name(), " ", value))));
      }
    }
  }
  EXPECT_GE(numbers, 40);
}

TEST(OptimizerValidateTest, EdgesOfRangesAreAccepted) {
  EXPECT_OK(CheckOptimizer("adam { beta1: 0.999999 weight_decay: 1 }"));
  EXPECT_OK(CheckOptimizer("rmsprop { eps: 0 eps_root: 1e-10 }"));
  EXPECT_OK(CheckOptimizer("adabelief { eps: 1e-8 eps_root: 0 }"));
  EXPECT_OK(CheckOptimizer("sgd { momentum: 0.9 nesterov: true }"));
  EXPECT_OK(
      CheckOptimizer("rate_schedule { shape: LINEAR decay_from_round: 99 }"));
  EXPECT_OK(CheckOptimizer("rate_schedule { decay_from_round: 1000 }"));
  EXPECT_OK(CheckOptimizer("lookahead { period: 5 rate: 1 } optimism: 10"));
}

TEST(OptimizerValidateTest, FaultsNameFieldValueAndRange) {
  const struct {
    const char* text;
    const char* fault;
  } kCases[] = {
      {"adam { beta2: 1 }", "g.adam.beta2 1 is not in [0, 1)"},
      {"adamw { learning_rate: 0 }",
       "g.adamw.learning_rate 0 is not in (0, 10]"},
      {"lamb { eps: 0 }", "g.lamb.eps 0 is not in [1.18e-38, 1]"},
      {"rmsprop { eps: 0 }", "g.rmsprop.eps 0 and eps_root 0 are both 0"},
      {"adabelief { eps: 0 eps_root: 0 }",
       "are both 0: one has to be at least"},
      {"adabelief { beta1: 0 }", "g.adabelief.beta1 0 is not in (0, 1)"},
      {"adabelief { rectify: true bias_correction: false }",
       "g.adabelief.rectify is about corrected means"},
      {"sgd { nesterov: true }", "g.sgd.nesterov needs momentum above 0"},
      {"sgd { nesterov: true momentum: 0.9 dampening: 0.1 }", "dampening 0"},
      {"optimism: 11", "g.optimism 11 is not in [0, 10]"},
      {"lookahead { period: -1 }", "g.lookahead.period -1"},
      {"lookahead { rate: 0 }", "g.lookahead.rate 0 is not in (0, 1]"},
      {"rate_schedule { warmup_rounds: -1 }", "g.rate_schedule.warmup_rounds"},
      {"rate_schedule { final_factor: 2 }", "g.rate_schedule.final_factor 2"},
      {"rate_schedule { shape: COSINE decay_from_round: 100 }",
       "decay_from_round 100 is not before the end of the decay, round 100"},
      {"rate_schedule { shape: LINEAR decay_from_round: 9 "
       "decay_until_round: 8 }",
       "decay_from_round 9 is not before the end of the decay, round 8"},
      {"base_batch_size: 0", "g.base_batch_size 0 is not in [1, 65536]"},
  };
  for (const auto& [text, fault] : kCases) {
    EXPECT_THAT(CheckOptimizer(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(fault)))
        << text;
  }
}

TEST(OptimizerValidateTest, GroupsNameTheirParameters) {
  EXPECT_OK(CheckOptimizer("group { parameters: 'main.*' }"));
  EXPECT_THAT(CheckOptimizer("group { parameters: 'a' } group { "
                             "learning_rate_factor: 0.1 }"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("g.group[1].parameters is empty")));
  for (const std::string value : {"-1", "0", "1001", "nan"}) {
    EXPECT_THAT(
        CheckOptimizer(
            "group { parameters: 'a' learning_rate_factor: " + value + " }"),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr("g.group[0].learning_rate_factor " + value +
                           " is not in (0, 1000]")));
  }
}

}  // namespace
}  // namespace gandem
