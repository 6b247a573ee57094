// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/probe_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

RunConfig Recipe(const std::string& name, std::vector<std::string> sets = {}) {
  const char* const root = std::getenv("GANDEM_SOURCE_DIR");
  EXPECT_NE(root, nullptr);
  auto config =
      LoadRunConfig(absl::StrCat(root, "/recipes/", name, ".textproto"), sets);
  EXPECT_OK(config);
  return EffectiveConfig(*config);
}

// Returns the recipe in SNAPSHOT mode with one thread per role.
RunConfig Dcgan64() {
  return Recipe("dcgan_64", {"schedule.feedback=SNAPSHOT",
                             "generator.threads=1", "discriminator.threads=1"});
}

std::vector<std::string> Texts(const std::vector<ProbeQuestion>& list) {
  std::vector<std::string> texts;
  for (const ProbeQuestion& question : list) {
    for (const ProbeSettings& settings : question.together) {
      texts.push_back(ToString(settings));
    }
  }
  return texts;
}

ProbeSettings FirstOf(const RunConfig& recipe) {
  return ProbeList(recipe, 2).front().together.front();
}

TEST(ProbeListTest, OnGpusThreadsAndContentionAreNoQuestions) {
  const RunConfig on_cores = Recipe("dcgan_64");
  const RunConfig on_gpus =
      Recipe("dcgan_64",
             {"generator.device=\"cuda\"", "discriminator.device=\"cuda\""});
  EXPECT_THAT(Texts(ProbeList(on_cores, 16)),
              Contains(AllOf(HasSubstr("8 threads"), HasSubstr("beside"))));
  const std::vector<ProbeQuestion> list = ProbeList(on_gpus, 16);
  EXPECT_THAT(Texts(list),
              Each(AllOf(HasSubstr("1 thread,"), Not(HasSubstr("beside")))));
  EXPECT_THAT(Texts(list), Contains(HasSubstr("TF32")));
  EXPECT_LT(list.size(), ProbeList(on_cores, 16).size());
}

TEST(ProbeListTest, BeginsWithBothRolesOfTheRecipe) {
  const auto list = ProbeList(Dcgan64(), 2);
  ASSERT_GE(list.size(), 20u);
  EXPECT_EQ(ToString(list[0].together.front()),
            "generator, batch 64, 1 thread, FLOAT32, CHANNELS_LAST, SNAPSHOT");
  EXPECT_EQ(
      ToString(list[1].together.front()),
      "discriminator, batch 64, 1 thread, FLOAT32, CHANNELS_LAST, SNAPSHOT");
  for (size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(list[i].is_needed, i < 2) << i;
  }
}

TEST(ProbeListTest, HasAllQuestionsThatAPlanMayNeed) {
  const auto texts = Texts(ProbeList(Dcgan64(), 2));
  const std::string d = "discriminator, batch ";
  const std::string kernels = ", FLOAT32, CHANNELS_LAST, ";
  for (const std::string& wanted :
       {d + "32, 1 thread" + kernels + "SNAPSHOT",
        d + "128, 1 thread" + kernels + "SNAPSHOT",
        d + "16, 1 thread" + kernels + "SNAPSHOT",
        d + "32, 1 thread" + kernels + "IMAGE_GRADIENT",
        "generator, batch 32, 1 thread" + kernels + "FUSED",
        d + "64, 2 threads" + kernels + "SNAPSHOT",
        d + "64, 1 thread" + kernels + "IMAGE_GRADIENT",
        d + "64, 1 thread" + kernels + "FUSED",
        d + "64, 2 threads" + kernels + "FUSED",
        d + "64, 2 threads, BFLOAT16, CHANNELS_LAST, SNAPSHOT",
        d + "64, 1 thread" + kernels + "SNAPSHOT, beside the other role",
        d + "64, 1 thread, FLOAT32, NCHW, SNAPSHOT",
        d + "64 by 32, 1 thread" + kernels + "SNAPSHOT",
        "generator, batch 64 by 32, 2 threads" + kernels + "SNAPSHOT",
        d + "64, 1 thread, BFLOAT16, CHANNELS_LAST, SNAPSHOT",
        "generator, batch 64, 1 thread" + kernels + "SNAPSHOT, FRESH",
        "colocated, batch 64, 2 threads" + kernels + "SNAPSHOT",
        "colocated, batch 64, 2 threads" + kernels + "IMAGE_GRADIENT",
        "colocated, batch 64, 2 threads" + kernels + "FUSED",
        "colocated, batch 32, 2 threads" + kernels + "SNAPSHOT",
        "colocated, batch 32, 2 threads" + kernels + "FUSED",
        "colocated, batch 64, 1 thread" + kernels + "SNAPSHOT",
        "colocated, batch 64, 1 thread" + kernels + "FUSED"}) {
    EXPECT_THAT(texts, Contains(wanted));
  }
  EXPECT_EQ(std::set<std::string>(texts.begin(), texts.end()).size(),
            texts.size())
      << "each is asked once";
}

// A budget may end anywhere in the list, so questions that many predictions
// need come before questions that few plans need.
TEST(ProbeListTest, SmallerBatchesComeBeforeOtherKernels) {
  const auto texts = Texts(ProbeList(Dcgan64(), 2));
  const auto first_of = [&](const std::string& part) {
    return std::ranges::find_if(texts, [&](const std::string& text) {
      return absl::StrContains(text, part);
    });
  };
  const auto kernels = std::min(first_of("NCHW"), first_of("BFLOAT16"));
  ASSERT_NE(kernels, texts.end());
  for (const char* const role : {"generator", "discriminator"}) {
    EXPECT_LT(first_of(absl::StrCat(role, ", batch 16, 1 thread,")), kernels);
    EXPECT_LT(first_of(absl::StrCat(role, ", batch 32, 2 threads,")), kernels);
  }
}

TEST(ProbeListTest, AllConfigsAreValid) {
  for (const char* const name :
       {"mlp_smoke", "dcgan_64", "wgan_gp_64", "biggan_128", "cifar10_sngan",
        "fashion_mnist_cgan", "fashion_mnist_fleet", "pix2pix_fashion_mnist"}) {
    const RunConfig recipe = Recipe(name);
    for (const ProbeQuestion& question : ProbeList(recipe, 4)) {
      for (const ProbeSettings& settings : question.together) {
        const RunConfig config = ProbeConfig(recipe, settings, recipe.data());
        EXPECT_OK(ValidateRunConfig(config)) << name << ToString(settings);
        EXPECT_OK(ParseRunConfig(EffectiveConfigText(config), name, {}))
            << name << ToString(settings);
      }
    }
  }
}

TEST(ProbeListTest, OneCoreHasNoContention) {
  EXPECT_THAT(Texts(ProbeList(Recipe("mlp_smoke"), 1)),
              Not(Contains(HasSubstr("beside"))));
}

TEST(ProbeListTest, UnsupportedModesAreLeftOut) {
  const auto texts =
      Texts(ProbeList(Recipe("mlp_smoke", {"loss=RELATIVISTIC_PAIRED",
                                           "schedule.feedback=IMAGE_GRADIENT"}),
                      2));
  EXPECT_THAT(texts, Not(Contains(HasSubstr("SNAPSHOT"))));
  EXPECT_THAT(texts, Contains(HasSubstr("FUSED")));
}

TEST(ProbeListTest, FleetWorkersHaveTheirShareOfTheBatch) {
  const RunConfig recipe =
      Recipe("mlp_smoke", {"discriminator.workers=2", "generator.workers=2"});
  EXPECT_EQ(FirstOf(recipe).batch_size(), 8);
}

TEST(ProbeListTest, ConfigHasTheSettings) {
  const RunConfig recipe =
      Recipe("mlp_smoke", {"schedule.lag=3", "discriminator.precision=AUTO",
                           "generator.optimizer.optimism=1"});
  ProbeSettings settings = FirstOf(recipe);
  settings.set_batch_size(10);
  settings.set_threads(2);
  settings.set_precision(RoleConfig::BFLOAT16);
  settings.set_feedback(ScheduleConfig::FUSED);
  const RunConfig config = ProbeConfig(recipe, settings, recipe.data());
  EXPECT_EQ(config.schedule().lag(), 1);
  EXPECT_EQ(config.schedule().feedback(), ScheduleConfig::FUSED);
  for (const RoleConfig& role : {config.generator(), config.discriminator()}) {
    EXPECT_EQ(role.batch_size(), 10);
    EXPECT_EQ(role.threads(), 2);
    EXPECT_EQ(role.workers(), 1);
    EXPECT_EQ(role.precision(), RoleConfig::BFLOAT16);
    EXPECT_LT(role.optimizer().adam().learning_rate(), 1e-6);
  }
  EXPECT_EQ(config.generator().optimizer().optimism(), 1) << "it costs time";
  EXPECT_EQ(config.samples().every_rounds(), 0);
}

TEST(ProbeLineTest, LineHasTheResultOrTheReason) {
  Probe probe;
  probe.mutable_settings()->set_role(GENERATOR);
  probe.mutable_settings()->set_batch_size(64);
  probe.mutable_settings()->set_threads(2);
  probe.set_outcome(Probe::MEASURED);
  probe.mutable_round()->set_median_seconds(0.5);
  probe.mutable_round()->set_low_seconds(0.25);
  probe.mutable_round()->set_high_seconds(1);
  probe.mutable_round()->set_repetitions(7);
  probe.set_peak_bytes(int64_t{300} << 20);
  EXPECT_EQ(ProbeLine(probe),
            "generator, batch 64, 2 threads, FLOAT32, NCHW, SNAPSHOT: 0.5 s a "
            "round (0.25 to 1 of 7, not settled), 300 MiB");
  probe.mutable_device_memory()->set_peak_bytes(int64_t{500} << 20);
  EXPECT_THAT(ProbeLine(probe), EndsWith("not settled), 500 MiB"));
  probe.set_outcome(Probe::DIED);
  probe.set_message("it was killed by signal 9");
  EXPECT_EQ(ProbeLine(probe),
            "generator, batch 64, 2 threads, FLOAT32, NCHW, SNAPSHOT: DIED: it "
            "was killed by signal 9");
}

TEST(ProbeLineTest, TransfersHaveALine) {
  TransferProfile transfer;
  transfer.set_kind(TransferProfile::EXCHANGE_SOCKET);
  transfer.set_latency_seconds(95e-6);
  transfer.set_bytes_per_second(1.4e9);
  EXPECT_EQ(TransferLine(transfer),
            "exchange over a socket: 95 us and 1.40 GB/s");
}

}  // namespace
}  // namespace gandem
