// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/fingerprint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/version.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using gandem::testing::StatusIs;
using gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSmallRecipe[] = R"(
  name: "small"
  rounds: 10
  data { image_size: 8 }
  schedule { image_source: FRESH }
  generator {
    network { mlp { hidden: 4 } } batch_size: 8 optimizer { adam {} }
  }
  discriminator {
    network { mlp { hidden: 4 } } batch_size: 8 optimizer { adam {} }
  })";

uint64_t HashWith(const std::string& set) {
  const auto recipe =
      ParseRunConfig(kSmallRecipe, "small", std::vector<std::string>{set});
  EXPECT_OK(recipe);
  return NetworksHash(*recipe);
}

TEST(FingerprintTest, HashCoversNetworksAndTheirCosts) {
  const uint64_t base = HashWith("name=\"small\"");
  for (const char* const same :
       {"rounds=7", "seed=3", "name=\"other\"", "generator.batch_size=16",
        "generator.optimizer.adam.learning_rate=1e-3", "schedule.lag=2",
        "discriminator.threads=2", "data.max_images=5",
        "generator.precision=BFLOAT16", "generator.optimizer.optimism=1",
        "generator.optimizer.optimism_rule=LAG_MATCHED",
        "generator.optimizer.group=[{parameters: 'main.0.*'}]"}) {
    EXPECT_EQ(HashWith(same), base) << same;
  }
  for (const char* const other :
       {"generator.network.mlp.hidden=[5]", "data.image_size=16",
        "discriminator.network.mlp.hidden=[5]", "loss=HINGE",
        "penalties.lecam=0.3", "augmentation.color=true",
        "discriminator.optimizer.sgd={}", "generator.device=\"cuda\"",
        "generator.optimizer.lookahead.period=5",
        "discriminator.freeze=['main.0.*']"}) {
    EXPECT_NE(HashWith(other), base) << other;
  }
}

TEST(FingerprintTest, NetworkFilesAreHashedByContent) {
  const TempDir folder;
  const auto hash_of = [&](const std::string& file, const std::string& text) {
    const std::string path = folder / file;
    EXPECT_OK(WriteFileDurably(path, text));
    return HashWith(absl::StrCat("generator.network.python={ module: '", path,
                                 "' name: 'G' noise_dim: 4 }"));
  };
  const uint64_t first = hash_of("a.py", "one");
  EXPECT_EQ(hash_of("b.py", "one"), first);
  EXPECT_NE(hash_of("a.py", "two"), first);
}

TEST(FingerprintTest, ThisMachineAndBuildAreDescribed) {
  const auto recipe = ParseRunConfig(kSmallRecipe, "small", {});
  ASSERT_OK(recipe);
  const ProfileFingerprint here = FingerprintHere(*recipe);
  EXPECT_FALSE(here.machine().empty());
  EXPECT_GE(here.cores(), 1);
  EXPECT_GT(here.memory_bytes(), int64_t{1} << 20);
  EXPECT_EQ(here.release(), std::string(GandemVersion()));
  EXPECT_FALSE(here.torch_version().empty());
}

TEST(FingerprintTest, EachDifferenceIsNamed) {
  Profile profile;
  profile.mutable_recipe()->set_name("small");
  ProfileFingerprint& there = *profile.mutable_fingerprint();
  there.set_machine("Z80");
  there.set_cores(2);
  there.set_memory_bytes(int64_t{8} << 30);
  there.set_networks(7);
  there.set_release("1.0.0");
  there.set_torch_version("2.11.0");
  ProfileFingerprint here = there;
  EXPECT_OK(CheckProfileHolds(profile, here));
  // Another kernel version may leave less memory.
  here.set_memory_bytes((int64_t{8} << 30) - (int64_t{64} << 20));
  EXPECT_OK(CheckProfileHolds(profile, here));

  here.set_networks(8);
  EXPECT_THAT(
      CheckProfileHolds(profile, here),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("another model"), HasSubstr("'small'"),
                     HasSubstr("gandem profile"), Not(HasSubstr("machine")))));
  here = there;
  here.set_machine("6502");
  here.set_cores(1);
  here.set_memory_bytes(int64_t{4} << 30);
  EXPECT_THAT(
      CheckProfileHolds(profile, here),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("processor 'Z80'"), HasSubstr("'6502'"),
                     HasSubstr("cores '2'"), HasSubstr("memory '8.0 GiB'"),
                     Not(HasSubstr("model")), Not(HasSubstr("version")))));
  here = there;
  here.set_release("2.0.0");
  here.set_torch_version("3.0.0");
  EXPECT_THAT(
      CheckProfileHolds(profile, here),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("version: gandem '1.0.0'"),
                     HasSubstr("LibTorch '2.11.0'"), HasSubstr("'3.0.0'"))));
}

}  // namespace
}  // namespace gandem
