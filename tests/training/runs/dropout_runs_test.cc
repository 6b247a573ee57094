// SPDX-License-Identifier: Apache-2.0
//
// Dropout masks in whole runs. A mask belongs to an image of a step, whichever
// worker computes it and in however many passes (design.md section 5).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/config/run_config.h"
#include "generator_worker/generator_role.h"
#include "tests/pipeline/idx_files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/training/runs/fleet_runs.h"
#include "tests/training/runs/pair.h"
#include "training/plan/run_plan.h"
#include "training/roles/role_parts.h"

namespace gandem {
namespace {

using gandem::testing::ExpectClose;
using gandem::testing::ExpectRanksAgree;
using gandem::testing::Float64;
using gandem::testing::SavedStates;
using gandem::testing::SetWorkers;
using gandem::testing::TempDir;
using gandem::testing::Train;

constexpr int64_t kRoundSteps = 2;  // discriminator steps

// An exchange that stores the generator's images, without a discriminator.
class KeptImages : public GeneratorExchange {
 public:
  absl::Status PutImages(const ImageBatch& batch, absl::Time) override {
    const int64_t size = batch.format.BytesPerImage();
    for (int64_t i = 0; i < batch.count; ++i) {
      const std::span<const std::byte> image =
          batch.pixels.span().subspan(i * size, size);
      images[batch.first_index + i].assign(image.begin(), image.end());
    }
    return absl::OkStatus();
  }
  absl::StatusOr<FeedbackBatch> TakeFeedback(int64_t, int64_t,
                                             absl::Time) override {
    return absl::DeadlineExceededError("nobody judges");
  }
  absl::StatusOr<CriticState> TakeCritic(int64_t, absl::Time) override {
    return absl::DeadlineExceededError("nobody judges");
  }
  absl::Status Finish(absl::Time) override { return absl::OkStatus(); }
  int64_t messages_damaged() const override { return 0; }
  void Close(absl::Status) override {}

  std::map<int64_t, std::vector<std::byte>> images;  // by index in the round
};

// Returns a config of equal inputs: only the masks make images differ.
RunConfig TranslatesEqualInputs(const TempDir& folder) {
  RunConfig config = gandem::testing::SmallConfig("pix2pix", folder.path());
  constexpr int kSide = 64;
  constexpr int kImages = 40;
  config.mutable_data()->set_idx_inputs(gandem::testing::WritePlain(
      folder.path() + "/equal_inputs",
      gandem::testing::IdxBytes(
          {kImages, kSide, kSide},
          std::vector<uint8_t>(kImages * kSide * kSide, 200))));
  ScheduleConfig& schedule = *config.mutable_schedule();
  schedule.set_image_source(ScheduleConfig::FRESH);
  schedule.set_discriminator_steps_per_round(kRoundSteps);
  config.mutable_generator()->set_micro_batch(3);
  EXPECT_OK(ValidateRunConfig(config));
  return config;
}

// Returns the FRESH images of the first round, by index.
std::map<int64_t, std::vector<std::byte>> FreshImages(const RunConfig& config,
                                                      int64_t rollbacks) {
  KeptImages kept;
  RoundGate gate(/*first_round=*/0, config.rounds());
  const RunPlan plan =
      MakeRunPlan(EffectiveRunConfig::OfValid(config), rollbacks);
  auto role = MakeGeneratorRole(
      plan, {.place = {}, .services = {.gate = &gate}}, &kept);
  EXPECT_OK(role);
  absl::StatusOr<AdvanceResult> result = AdvanceResult::kAdvanced;
  while (result.ok() && *result == AdvanceResult::kAdvanced) {
    result = (*role)->Advance(absl::InfinitePast());
  }
  EXPECT_OK(result);
  return kept.images;
}

TEST(DropoutRunsTest, NoTwoFreshImagesOfARoundShareAMask) {
  const TempDir folder;
  const RunConfig config = TranslatesEqualInputs(folder);
  const auto images = FreshImages(config, /*rollbacks=*/0);
  const int64_t batch = config.discriminator().batch_size();
  ASSERT_EQ(images.size(), static_cast<size_t>(kRoundSteps * batch));
  for (const auto& [index, image] : images) {
    for (const auto& [other_index, other] : images) {
      EXPECT_TRUE(index == other_index || image != other)
          << index << " and " << other_index;
    }
  }
}

// With the same masks, a run would diverge at the same round again.
TEST(DropoutRunsTest, ARollbackContinuesWithOtherMasks) {
  const TempDir folder;
  const RunConfig config = TranslatesEqualInputs(folder);
  const auto first = FreshImages(config, /*rollbacks=*/0);
  const auto second = FreshImages(config, /*rollbacks=*/1);
  const auto third = FreshImages(config, /*rollbacks=*/2);
  ASSERT_EQ(second.size(), first.size());
  for (const auto& [index, image] : second) {
    EXPECT_NE(image, first.at(index)) << index;
    EXPECT_NE(image, third.at(index)) << index;
  }
  EXPECT_EQ(FreshImages(config, /*rollbacks=*/1), second);
}

// Dropout is the only randomness of this generator.
TEST(DropoutRunsTest, TranslatingFleetsEqualOneWorker) {
  const TempDir folder;
  RunConfig config =
      Float64(gandem::testing::SmallConfig("pix2pix", folder.path()));
  config.set_rounds(2);
  config.mutable_schedule()->set_image_source(ScheduleConfig::FRESH);
  config.mutable_schedule()->set_discriminator_steps_per_round(2);
  for (RoleConfig* role :
       {config.mutable_generator(), config.mutable_discriminator()}) {
    role->mutable_sync()->set_batch_norm(true);
    role->mutable_optimizer()->mutable_adam()->set_eps(1e-5);
  }
  const SavedStates one = Train(config);
  SetWorkers(2, 3, config);
  ASSERT_OK(ValidateRunConfig(config));
  const SavedStates fleet = Train(config);
  ExpectClose(fleet, one, 1e-8);
  ExpectRanksAgree(fleet, config);
}

}  // namespace
}  // namespace gandem
