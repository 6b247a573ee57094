// SPDX-License-Identifier: Apache-2.0
#include "common/programs/own_networks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

// `printf 'x = 1\n' | sha256sum`
constexpr char kSha256[] =
    "9e26bf369911c45c243c684147b23fc9e1dcfcf257d299a1c632016a6fcd33f4";

PythonConfig& PythonOf(RunConfig& config) {
  return *config.mutable_generator()->mutable_network()->mutable_python();
}

class OwnNetworksTest : public ::testing::Test {
 protected:
  // Returns a config with the file `name` of `content` after KnowOwnNetworks.
  RunConfig Known(const std::string& name, const std::string& content) {
    EXPECT_OK(WriteFile(folder_ / name, content));
    RunConfig config;
    PythonOf(config).set_module(folder_ / name);
    EXPECT_OK(KnowOwnNetworks(config));
    return config;
  }

  TempDir folder_;
};

TEST_F(OwnNetworksTest, TheSha256OfTheContentIsRecorded) {
  RunConfig config = Known("a.py", "x = 1\n");
  EXPECT_EQ(PythonOf(config).sha256(), kSha256);
  EXPECT_EQ(PythonOf(config).module(), folder_ / "a.py");
  EXPECT_OK(KnowOwnNetworks(config));  // content matches the recorded hash
}

TEST_F(OwnNetworksTest, ContentThatDiffersFromTheHashIsRefused) {
  RunConfig config = Known("a.py", "x = 1\n");
  ASSERT_OK(WriteFile(folder_ / "a.py", "x = 2\n"));
  EXPECT_THAT(KnowOwnNetworks(config),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("generator.network.python.sha256"),
                             HasSubstr(kSha256), HasSubstr("leave sha256"))));
}

TEST_F(OwnNetworksTest, NamesAFileThatIsMissing) {
  RunConfig config;
  PythonOf(config).set_module(folder_ / "absent.py");
  EXPECT_THAT(KnowOwnNetworks(config),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("generator.network.python.module"),
                             HasSubstr("absent.py"))));
}

TEST_F(OwnNetworksTest, AMovedFileIsTheSameNetwork) {
  RunConfig saved = Known("a.py", "x = 1\n");
  RunConfig now = Known("b.py", "x = 1\n");
  TakeMovedCode(now, /*accept_changed_code=*/false, saved);
  EXPECT_EQ(PythonOf(saved).module(), PythonOf(now).module());
  EXPECT_FALSE(CodeHasChanged(saved, now));
}

TEST_F(OwnNetworksTest, AChangedFileIsTheSameOnceAccepted) {
  RunConfig saved = Known("a.py", "x = 1\n");
  const RunConfig now = Known("b.py", "x = 2\n");
  TakeMovedCode(now, /*accept_changed_code=*/false, saved);
  EXPECT_EQ(PythonOf(saved).module(), folder_ / "a.py");
  EXPECT_TRUE(CodeHasChanged(saved, now));
  TakeMovedCode(now, /*accept_changed_code=*/true, saved);
  EXPECT_EQ(PythonOf(saved).module(), folder_ / "b.py");
  EXPECT_FALSE(CodeHasChanged(saved, now));
}

TEST_F(OwnNetworksTest, RunsWithoutAnOwnNetworkAreUnchanged) {
  RunConfig saved;
  RunConfig now;
  ASSERT_OK(KnowOwnNetworks(now));
  TakeMovedCode(now, /*accept_changed_code=*/true, saved);
  EXPECT_FALSE(saved.has_generator());
  EXPECT_FALSE(now.has_discriminator());
}

}  // namespace
}  // namespace gandem
