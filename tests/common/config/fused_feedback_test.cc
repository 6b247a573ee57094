// SPDX-License-Identifier: Apache-2.0
#include "common/config/fused_feedback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/files/text_proto.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

constexpr char kFusedConfig[] = R"(
  rounds: 10
  schedule { feedback: FUSED }
  generator { network { dcgan {} } }
  discriminator { network { sndcgan {} } }
)";

absl::StatusOr<RunConfig> WithFused(std::vector<std::string> sets) {
  return ParseRunConfig(kFusedConfig, "fused", sets);
}

void ExpectFusedFault(std::vector<std::string> sets, const std::string& text) {
  EXPECT_THAT(WithFused(std::move(sets)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)));
}

TEST(FusedFeedbackTest, OtherSchedulesAreRefusedWithTheReason) {
  EXPECT_OK(WithFused({}));
  for (const std::string lag : {"0", "2"}) {
    ExpectFusedFault(
        {"schedule.lag=" + lag},
        absl::StrCat("schedule.feedback FUSED judges an image by the version "
                     "that trains on it, which is lag 1, and schedule.lag is ",
                     lag, ": set schedule.lag=1, or schedule.feedback="));
  }
  ExpectFusedFault({"schedule.image_source=FRESH"},
                   "those of schedule.image_source FRESH are not the generator "
                   "step's own: set schedule.image_source=REUSED, or "
                   "schedule.feedback=IMAGE_GRADIENT");
  ExpectFusedFault({"schedule.consistency=BOUNDED"},
                   "schedule.consistency BOUNDED drops images and repeats "
                   "them: set schedule.consistency=EXACT");
}

TEST(FusedFeedbackTest, LossesThatCompareABatchNeedOneStepPerRound) {
  const std::string relativistic = "loss=RELATIVISTIC_PAIRED";
  EXPECT_OK(WithFused({relativistic}));
  ExpectFusedFault(
      {relativistic, "schedule.discriminator_steps_per_round=2",
       "generator.batch_size=128"},
      "loss RELATIVISTIC_PAIRED compares the images of a whole batch, and "
      "schedule.feedback FUSED judges those of each of 2 discriminator steps "
      "by themselves: set schedule.discriminator_steps_per_round=1");
  const std::vector<std::string> classes = {
      "data.num_classes=3",
      "class_loss.family=D2D_CE",
      "generator.network.biggan={}",
      "discriminator.network.biggan={head: CONTRASTIVE}",
  };
  EXPECT_OK(WithFused(classes));
  std::vector<std::string> twice = classes;
  twice.push_back("schedule.discriminator_steps_per_round=2");
  twice.push_back("generator.batch_size=128");
  ExpectFusedFault(twice, "class_loss.family D2D_CE compares");
  // Other losses may have any number of steps.
  EXPECT_OK(WithFused({"schedule.discriminator_steps_per_round=2",
                       "generator.batch_size=128"}));
}

TEST(FusedFeedbackTest, OnePassIsTakenWhereItIsExact) {
  const auto passes = [](std::vector<std::string> sets) {
    const auto config = WithFused(std::move(sets));
    EXPECT_OK(config.status());
    return EffectiveConfig(*config).schedule().fused_backward();
  };
  for (const std::string loss : {"NON_SATURATING", "SATURATING", "WASSERSTEIN",
                                 "HINGE", "LEAST_SQUARES"}) {
    EXPECT_EQ(passes({"loss=" + loss}), ScheduleConfig::ONE_PASS) << loss;
    EXPECT_EQ(passes({"loss=" + loss, "schedule.fused_backward=TWO_PASSES"}),
              ScheduleConfig::TWO_PASSES);
  }
  // These penalties use real images or have their own passes.
  EXPECT_EQ(passes({"penalties={r1: 1 gradient_penalty: 1 consistency_real: 1}",
                    "augmentation.color=true"}),
            ScheduleConfig::ONE_PASS);
  for (const auto& [set, why] :
       std::vector<std::pair<std::string, std::string>>{
           {"loss=RELATIVISTIC_PAIRED", "loss RELATIVISTIC_PAIRED"},
           {"loss=RELATIVISTIC_AVERAGE", "loss RELATIVISTIC_AVERAGE"},
           {"discriminator.network.dcgan={}",
            "batch norm in discriminator.network"},
           {"discriminator.network.stylegan2={}",
            "deviation_group in discriminator.network.stylegan2"},
           {"discriminator.network.own={name: 'a'}",
            "discriminator.network.own"},
           {"penalties.r2=1", "penalties.r2 1"},
           {"penalties.lecam=0.5", "penalties.lecam 0.5"},
           {"penalties.consistency_generated=2",
            "penalties.consistency_generated 2"},
           {"discriminator.precision=FLOAT16",
            "discriminator.precision FLOAT16"}}) {
    EXPECT_EQ(passes({set}), ScheduleConfig::TWO_PASSES) << set;
    ExpectFusedFault({set, "schedule.fused_backward=ONE_PASS"},
                     absl::StrCat("schedule.fused_backward ONE_PASS is not "
                                  "exact with ",
                                  why, ": set schedule.fused_backward=AUTO"));
  }
}

// Only a worker can inspect a Python network: one pass must be requested.
TEST(FusedFeedbackTest, ANetworkInPythonMayTakeOnePass) {
  const std::string python =
      "discriminator.network.python={module: 'a.py' name: 'A'}";
  for (const auto& [passes, effective] :
       {std::pair("AUTO", ScheduleConfig::TWO_PASSES),
        std::pair("ONE_PASS", ScheduleConfig::ONE_PASS)}) {
    ASSERT_OK_AND_ASSIGN(
        const RunConfig config,
        WithFused({python, absl::StrCat("schedule.fused_backward=", passes)}));
    EXPECT_EQ(EffectiveConfig(config).schedule().fused_backward(), effective);
  }
  ExpectFusedFault(
      {python, "penalties.r2=1", "schedule.fused_backward=ONE_PASS"},
      "ONE_PASS is not exact with penalties.r2 1");
}

TEST(FusedFeedbackTest, PassesBelongToFusedOnly) {
  ExpectFusedFault(
      {"schedule.feedback=SNAPSHOT", "schedule.fused_backward=ONE_PASS"},
      "schedule.fused_backward ONE_PASS goes with schedule.feedback FUSED, and "
      "that is SNAPSHOT: set schedule.fused_backward=AUTO, or "
      "schedule.feedback=FUSED");
  ASSERT_OK_AND_ASSIGN(const RunConfig other,
                       WithFused({"schedule.feedback=SNAPSHOT"}));
  EXPECT_EQ(EffectiveConfig(other).schedule().fused_backward(),
            ScheduleConfig::AUTO);
}

TEST(FusedFeedbackTest, RealImagesComeFirstIfTheLossNeedsThem) {
  const auto real_first = [](std::vector<std::string> sets) {
    const auto config = WithFused(std::move(sets));
    EXPECT_OK(config.status());
    return RealImagesFirst(*config);
  };
  EXPECT_FALSE(real_first({}));
  EXPECT_FALSE(real_first({"penalties={r1: 1 lecam: 1 dragan: 1}"}));
  EXPECT_TRUE(real_first({"loss=RELATIVISTIC_PAIRED"}));
  EXPECT_TRUE(real_first({"penalties.gradient_penalty=1"}));
  EXPECT_FALSE(real_first({"penalties.lecam_moves_first=true"}));
  EXPECT_TRUE(real_first({"penalties={lecam: 1 lecam_moves_first: true}"}));
  EXPECT_TRUE(real_first({"schedule.feedback=IMAGE_GRADIENT"}));
}

// The passes belong to training, in which all workers take part.
TEST(FusedFeedbackTest, SyncBatchNormNeedsTheSameNumberOfPassesOnEveryWorker) {
  const auto with = [](std::vector<std::string> sets) {
    sets.push_back("discriminator.network.dcgan={}");
    sets.push_back("discriminator.sync.batch_norm=true");
    return WithFused(std::move(sets));
  };
  EXPECT_OK(with({"discriminator.workers=2", "generator.workers=3"}));
  EXPECT_OK(with({"generator.workers=3", "discriminator.precision=FLOAT16"}));
  EXPECT_THAT(
      with({"discriminator.workers=2", "discriminator.precision=FLOAT16"}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("FLOAT16 tries until nothing overflows")));
  ExpectFusedFault(
      {"discriminator.network.python={module: 'a.py' name: 'A'}",
       "discriminator.sync.batch_norm=true"},
      "discriminator.sync.batch_norm reaches the layers of built-in networks "
      "only");
}

}  // namespace
}  // namespace gandem
