// SPDX-License-Identifier: Apache-2.0
//
// Every recipe loads, and trains three rounds with narrow networks and small
// images.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "common/config/run_config.h"
#include "models/torch.h"
#include "tests/testing/status_matchers.h"
#include "tests/training/runs/pair.h"

namespace gandem {
namespace {

using gandem::testing::RunPair;
using gandem::testing::SavedStates;
using ::testing::SizeIs;

constexpr int64_t kRecipesRounds = 3;
constexpr int64_t kRecipesBatch = 2;
constexpr int64_t kLargestImage = 64;

std::string RecipeFolder() {
  const char* source_dir = std::getenv("GANDEM_SOURCE_DIR");
  return std::string(source_dir == nullptr ? "." : source_dir) + "/recipes";
}

std::vector<std::string> RecipeNames() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(RecipeFolder())) {
    if (entry.path().extension() != ".textproto") continue;
    names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

// Whatever the family: the field `width` or `channel_base`, if it has one.
// Attention needs eight channels, and more than one group more than these.
void Narrow(NetworkConfig& network) {
  const auto& reflection = *network.GetReflection();
  const auto* const family = reflection.GetOneofFieldDescriptor(
      network, NetworkConfig::descriptor()->oneof_decl(0));
  auto& message = *reflection.MutableMessage(&network, family);
  const auto& fields = *message.GetDescriptor();
  const auto* const base = fields.FindFieldByName("channel_base");
  if (base != nullptr) message.GetReflection()->SetInt64(&message, base, 64);
  const auto* const width = fields.FindFieldByName("width");
  if (width == nullptr) return;
  const bool attention = fields.FindFieldByName("attention") != nullptr;
  message.GetReflection()->SetInt64(&message, width, attention ? 8 : 2);
  const auto* const groups = fields.FindFieldByName("groups");
  if (groups != nullptr) message.GetReflection()->SetInt64(&message, groups, 1);
}

RunConfig Reduced(RunConfig config) {
  config.set_rounds(kRecipesRounds);
  config.mutable_data()->set_max_images(64);
  // A file that is made by a script: any images will do.
  if (!config.data().idx_inputs().empty()) {
    config.mutable_data()->set_idx_inputs(config.data().idx_images());
  }
  if (!config.data().source().empty()) {
    config.mutable_data()->set_source(config.data().idx_images());
  }
  config.mutable_data()->set_image_size(
      std::min(config.data().image_size(), kLargestImage));
  const ScheduleConfig& schedule = config.schedule();
  config.mutable_discriminator()->set_batch_size(kRecipesBatch);
  config.mutable_generator()->set_batch_size(
      schedule.image_source() == ScheduleConfig::REUSED
          ? kRecipesBatch * schedule.discriminator_steps_per_round()
          : kRecipesBatch);
  for (RoleConfig* const role :
       {config.mutable_generator(), config.mutable_discriminator()}) {
    role->set_micro_batch(0);
    role->set_threads(1);
    Narrow(*role->mutable_network());
    // The decay of a learning rate ends within the run.
    role->mutable_optimizer()->clear_rate_schedule();
  }
  config.mutable_checkpoint()->set_every_rounds(0);
  return config;
}

class RecipesTest : public ::testing::TestWithParam<std::string> {};

TEST_P(RecipesTest, LoadsAndTrains) {
  ASSERT_OK_AND_ASSIGN(
      const RunConfig recipe,
      LoadRunConfig(RecipeFolder() + "/" + GetParam() + ".textproto", {}));
  EXPECT_EQ(recipe.name(), GetParam());
  const RunConfig config = Reduced(recipe);
  ASSERT_OK(ValidateRunConfig(config));
  ASSERT_OK_AND_ASSIGN(const SavedStates saved, RunPair(config, {}));
  ASSERT_TRUE(saved.contains(kRecipesRounds));
  ASSERT_THAT(saved.at(kRecipesRounds), SizeIs(2));  // one file a role
  for (const auto& [file, tensors] : saved.at(kRecipesRounds)) {
    for (const NamedTensor& tensor : tensors) {
      if (tensor.dtype != DType::kF32) continue;
      const at::Tensor values =
          torch::from_blob(const_cast<std::byte*>(tensor.bytes.data()),
                           tensor.shape, torch::kFloat32);
      EXPECT_TRUE(at::isfinite(values).all().item<bool>())
          << file << " " << tensor.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RecipesTest, ::testing::ValuesIn(RecipeNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace gandem
