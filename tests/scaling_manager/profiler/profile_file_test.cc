// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/profile_file.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "common/config/run_config.h"
#include "common/files/file.h"
#include "scaling_manager/profiler/fingerprint.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using gandem::testing::StatusIs;
using gandem::testing::TempDir;
using google::protobuf::util::MessageDifferencer;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kProfiledRecipe[] = R"(
  rounds: 10
  data { image_size: 8 }
  generator { network { mlp { hidden: 4 } } batch_size: 8 }
  discriminator { network { mlp { hidden: 4 } } batch_size: 8 })";

Profile SomeProfile() {
  Profile profile;
  const auto recipe = ParseRunConfig(kProfiledRecipe, "recipe", {});
  EXPECT_OK(recipe);
  *profile.mutable_recipe() = EffectiveConfig(*recipe);
  *profile.mutable_fingerprint() = FingerprintHere(*recipe);
  Probe& probe = *profile.add_probes();
  probe.mutable_settings()->set_role(GENERATOR);
  probe.mutable_settings()->set_batch_size(8);
  probe.set_outcome(Probe::MEASURED);
  probe.mutable_round()->set_median_seconds(0.1 + 0.2);
  probe.set_peak_bytes(1'000'000);
  TransferProfile& transfer = *profile.add_transfers();
  transfer.set_kind(TransferProfile::EXCHANGE_SOCKET);
  transfer.set_latency_seconds(1e-4);
  transfer.set_bytes_per_second(1e9);
  profile.set_spent_seconds(12.5);
  return profile;
}

class ProfileFileTest : public ::testing::Test {
 protected:
  ProfileFileTest() { setenv("XDG_CACHE_HOME", cache_.path().c_str(), 1); }
  ~ProfileFileTest() override { unsetenv("XDG_CACHE_HOME"); }

  const TempDir cache_;
};

TEST_F(ProfileFileTest, ProfilesAreReadAsWritten) {
  const Profile profile = SomeProfile();
  const std::string path = cache_ / "a.textproto";
  ASSERT_OK(WriteProfile(path, profile));
  ASSERT_OK_AND_ASSIGN(const Profile read, ReadProfile(path));
  EXPECT_TRUE(MessageDifferencer::Equals(read, profile));
}

TEST_F(ProfileFileTest, ErrorsNameTheInvalidProfile) {
  EXPECT_THAT(ReadProfile(cache_ / "none"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
  EXPECT_THAT(
      ParseProfile("probess {}", "a.textproto"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("a.textproto:1:"), HasSubstr("probes"))));
  EXPECT_THAT(ParseProfile("", "a.textproto"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("a.textproto"), HasSubstr("fingerprint"),
                             HasSubstr("recipe"))));
}

TEST_F(ProfileFileTest, ImpossibleNumbersAreListed) {
  Profile profile = SomeProfile();
  Probe& probe = *profile.mutable_probes(0);
  probe.mutable_settings()->set_batch_size(0);
  probe.mutable_round()->set_median_seconds(-1);
  profile.mutable_transfers(0)->set_bytes_per_second(0);
  EXPECT_THAT(ParseProfile(ProfileText(profile), "p"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("probes[0].settings.batch_size"),
                             HasSubstr("probes[0].round.median_seconds"),
                             HasSubstr("transfers[0].bytes_per_second"))));
}

TEST_F(ProfileFileTest, ImplausibleNumbersAreNamed) {
  Profile profile = SomeProfile();
  Probe& probe = *profile.mutable_probes(0);
  probe.mutable_settings()->set_threads(99999);
  probe.mutable_round()->set_median_seconds(0);
  probe.mutable_round()->set_repetitions(-1);
  EXPECT_THAT(ParseProfile(ProfileText(profile), "p"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("probes[0].settings.threads 99999"),
                             HasSubstr("probes[0].round.median_seconds 0"),
                             HasSubstr("probes[0].round.repetitions -1"))));
}

TEST_F(ProfileFileTest, ProfilesWithAnInvalidRecipeAreRejected) {
  Profile profile = SomeProfile();
  profile.mutable_recipe()->clear_rounds();
  EXPECT_THAT(ParseProfile(ProfileText(profile), "p"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("p: recipe"), HasSubstr("rounds"))));
}

TEST_F(ProfileFileTest, CacheFindsProfilesByFingerprint) {
  const Profile profile = SomeProfile();
  const std::string path = CachedProfilePath(profile.fingerprint());
  EXPECT_THAT(path, AllOf(StartsWith(cache_.path() + "/gandem/profiles/"),
                          EndsWith(".textproto")));
  EXPECT_FALSE(FindCachedProfile(profile.fingerprint()).has_value());
  ASSERT_OK(CreateDirectories(ParentOf(path)));
  ASSERT_OK(WriteProfile(path, profile));
  const auto found = FindCachedProfile(profile.fingerprint());
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(MessageDifferencer::Equals(*found, profile));

  ProfileFingerprint other = profile.fingerprint();
  other.set_networks(other.networks() + 1);
  EXPECT_FALSE(FindCachedProfile(other).has_value());
  Profile less = profile;
  less.clear_probes();
  KeepProfile(less, /*even_with_less=*/false);
  EXPECT_EQ(FindCachedProfile(profile.fingerprint())->probes_size(), 1);
  KeepProfile(less, /*even_with_less=*/true);
  EXPECT_EQ(FindCachedProfile(profile.fingerprint())->probes_size(), 0);
  KeepProfile(profile, /*even_with_less=*/false);
  EXPECT_EQ(FindCachedProfile(profile.fingerprint())->probes_size(), 1);
  ASSERT_OK(WriteFile(path, "probes {"));
  EXPECT_FALSE(FindCachedProfile(profile.fingerprint()).has_value());
}

}  // namespace
}  // namespace gandem
