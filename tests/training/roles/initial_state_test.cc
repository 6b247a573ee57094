// SPDX-License-Identifier: Apache-2.0
#include "common/checkpoint/initial_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/checkpoint/safetensors.h"
#include "models/registry/initialize.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "training/roles/role_parts.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

std::shared_ptr<Generator> NewMlp(int64_t width, uint64_t seed) {
  NetworkConfig config;
  config.mutable_mlp()->set_noise_dim(4);
  config.mutable_mlp()->add_hidden(width);
  std::shared_ptr<Generator> network = *MakeGenerator(config, {{1, 8, 8}, 0});
  InitializeParameters(*network, config, seed);
  return network;
}

std::vector<std::byte> BytesOf(const Generator& network) {
  const SharedBytes packed = PackModule(network);
  return {packed.span().begin(), packed.span().end()};
}

RoleSetup SetupOf(const std::string& run_dir,
                  const std::string& resume_from = "") {
  RoleSetup setup;
  setup.run_dir = run_dir;
  setup.resume_from = resume_from;
  return setup;
}

class BeginAsGivenTest : public ::testing::Test {
 protected:
  void Give(const Generator& network) {
    std::vector<NamedTensor> tensors;
    AppendTensors("", StateOf(network), tensors);
    const std::string path = dir_ / "given.safetensors";
    ASSERT_OK(WriteSafetensors(path, tensors, {}).status());
    ASSERT_OK(TakeInitialStates(dir_.path(), {.generator = path},
                                /*begins=*/true));
  }
  gandem::testing::TempDir dir_;
};

TEST_F(BeginAsGivenTest, TheNetworkHasTheBitsOfTheGivenFile) {
  const auto given = NewMlp(6, /*seed=*/1);
  Give(*given);
  const auto network = NewMlp(6, /*seed=*/2);
  ASSERT_NE(BytesOf(*network), BytesOf(*given));
  ASSERT_OK(BeginAsGiven(SetupOf(dir_.path()), "generator", {network.get()}));
  EXPECT_EQ(BytesOf(*network), BytesOf(*given));
}

TEST_F(BeginAsGivenTest, WithoutAFileTheDrawnValuesAreKept) {
  Give(*NewMlp(6, /*seed=*/1));
  const auto network = NewMlp(6, /*seed=*/2);
  const std::vector<std::byte> drawn = BytesOf(*network);
  ASSERT_OK(
      BeginAsGiven(SetupOf(dir_.path()), "discriminator", {network.get()}));
  EXPECT_EQ(BytesOf(*network), drawn);
  for (const RoleSetup& setup :
       {SetupOf(/*run_dir=*/""), SetupOf(dir_.path(), "checkpoint")}) {
    ASSERT_OK(BeginAsGiven(setup, "generator", {network.get()}));
    EXPECT_EQ(BytesOf(*network), drawn);
  }
}

TEST_F(BeginAsGivenTest, AnotherArchitectureIsRefused) {
  Give(*NewMlp(5, /*seed=*/1));
  const auto network = NewMlp(6, /*seed=*/2);
  EXPECT_THAT(
      BeginAsGiven(SetupOf(dir_.path()), "generator", {network.get()}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("main.0.weight has shape [5, 4], the network wants "
                         "[6, 4]")));
}

}  // namespace
}  // namespace gandem
