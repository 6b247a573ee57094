// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/run_credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/files/file.h"
#include "common/security/token.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/testing/test_certificates.h"
#include "tests/testing/test_credentials.h"

namespace gandem {
namespace {

using ::gandem::testing::MakeAuthority;
using ::gandem::testing::MakeCertificate;
using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RunCredentialsTest : public ::testing::Test {
 protected:
  RunCredentialsTest() {
    EXPECT_OK(CreateDirectories(run_dir_ + "/state"));
    MakeAuthority(certs_);
    MakeCertificate(certs_, {"alpha"});
  }
  // Those of the process are the other tests', too.
  ~RunCredentialsTest() override { gandem::testing::UseTestCredentials(); }

  const TempDir dir_;
  const std::string run_dir_ = dir_ / "run";
  const std::string certs_ = dir_ / "certs";
  const std::string token_ = TokenPath(run_dir_);
};

TEST_F(RunCredentialsTest, WorkersGetTheNamesOfFiles) {
  ASSERT_OK(TakeRunCredentials(run_dir_, "", false));
  EXPECT_THAT(CredentialFlags(), ElementsAre("--token_file", token_));
  ASSERT_OK(TakeRunCredentials(run_dir_, "", true));
  EXPECT_THAT(CredentialFlags(),
              ElementsAre("--token_file", token_, "--insecure_network"));
  ASSERT_OK(TakeRunCredentials(run_dir_, certs_, false));
  EXPECT_THAT(
      CredentialFlags(),
      ElementsAre("--token_file", token_, "--certificates", certs_ + "/alpha"));
}

TEST_F(RunCredentialsTest, TheTokenIsKeptAndComesBack) {
  ASSERT_OK(TakeRunCredentials(run_dir_, "", false));
  ASSERT_OK_AND_ASSIGN(const std::string token, ReadToken(token_));
  EXPECT_EQ(ProcessCredentials()->token, token);
  ASSERT_OK(TakeRunCredentials(run_dir_, "", false));
  EXPECT_EQ(ProcessCredentials()->token, token);
  ASSERT_OK_AND_ASSIGN(const bool nothing, MendToken(run_dir_));
  EXPECT_FALSE(nothing);
  ASSERT_OK(RemoveAll(run_dir_ + "/state"));
  ASSERT_OK_AND_ASSIGN(const bool mended, MendToken(run_dir_));
  EXPECT_TRUE(mended);
  ASSERT_OK_AND_ASSIGN(const std::string again, ReadToken(token_));
  EXPECT_EQ(again, token);
}

TEST_F(RunCredentialsTest, StatusUsesWhatTheTrainingWasGiven) {
  EXPECT_THAT(CredentialsOfRun(run_dir_, ""),
              StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK(TakeRunCredentials(run_dir_, certs_, false));
  ASSERT_OK_AND_ASSIGN(auto found, CredentialsOfRun(run_dir_, ""));
  ASSERT_NE(found->certificates, nullptr);
  EXPECT_FALSE(found->insecure_network);
  // On a host that keeps its own elsewhere.
  const std::string other = dir_ / "other";
  MakeAuthority(other);
  MakeCertificate(other, {"beta"});
  ASSERT_OK_AND_ASSIGN(found, CredentialsOfRun(run_dir_, other));
  EXPECT_EQ(found->certificates->path(), other + "/beta");
  ASSERT_OK(RemoveAll(certs_));
  EXPECT_THAT(
      CredentialsOfRun(run_dir_, ""),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("pass --certificates")));
  // The next training has none.
  ASSERT_OK(TakeRunCredentials(run_dir_, "", true));
  ASSERT_OK_AND_ASSIGN(found, CredentialsOfRun(run_dir_, ""));
  EXPECT_EQ(found->certificates, nullptr);
  EXPECT_TRUE(found->insecure_network);
}

}  // namespace
}  // namespace gandem
