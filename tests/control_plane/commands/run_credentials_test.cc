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

using ::gandem::testing::IssueCertificate;
using ::gandem::testing::MakeAuthority;
using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RunCredentialsTest : public ::testing::Test {
 protected:
  RunCredentialsTest() {
    MakeAuthority(certs_);
    IssueCertificate(certs_, {"alpha"});
  }
  // Other tests share the credentials of the process.
  ~RunCredentialsTest() override { gandem::testing::UseTestCredentials(); }

  const TempDir dir_;
  const std::string run_dir_ = dir_ / "run";
  const std::string certs_ = dir_ / "certs";
  const std::string token_ = TokenPath(run_dir_);
};

TEST_F(RunCredentialsTest, WorkersGetFileNamesOfSecrets) {
  ASSERT_OK(TakeRunCredentials(run_dir_, "", false));
  EXPECT_THAT(CredentialFlags(), ElementsAre("--token_file", token_));
  ASSERT_OK(TakeRunCredentials(run_dir_, "", true));
  EXPECT_THAT(CredentialFlags(),
              ElementsAre("--token_file", token_, "--insecure_network"));
  ASSERT_OK(TakeRunCredentials(run_dir_, certs_ + "/alpha", false));
  EXPECT_THAT(
      CredentialFlags(),
      ElementsAre("--token_file", token_, "--certificates", certs_ + "/alpha"));
}

TEST_F(RunCredentialsTest, TheSecretsAreKept) {
  ASSERT_OK(TakeRunCredentials(run_dir_, "", false));
  const auto first = ProcessCredentials();
  ASSERT_NE(first->certificates, nullptr);
  ASSERT_OK(TakeRunCredentials(run_dir_, "", false));
  EXPECT_EQ(ProcessCredentials()->token, first->token);
  EXPECT_EQ(ProcessCredentials()->certificates->Text(),
            first->certificates->Text());
}

TEST_F(RunCredentialsTest, StatusUsesTheCredentialsOfTheRun) {
  EXPECT_THAT(CredentialsOfRun(run_dir_, ""),
              StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK(TakeRunCredentials(run_dir_, "", false));
  ASSERT_OK_AND_ASSIGN(auto found, CredentialsOfRun(run_dir_, ""));
  ASSERT_NE(found->certificates, nullptr);
  EXPECT_TRUE(found->certificates->are_of_run());
  ASSERT_OK(TakeRunCredentials(run_dir_, certs_ + "/alpha", false));
  ASSERT_OK_AND_ASSIGN(found, CredentialsOfRun(run_dir_, ""));
  ASSERT_NE(found->certificates, nullptr);
  EXPECT_EQ(found->certificates->path(), certs_ + "/alpha");
  EXPECT_FALSE(found->insecure_network);
  // Simulates a host that keeps its credentials in another folder.
  const std::string other = dir_ / "other";
  MakeAuthority(other);
  IssueCertificate(other, {"beta"});
  ASSERT_OK_AND_ASSIGN(found, CredentialsOfRun(run_dir_, other + "/beta"));
  EXPECT_EQ(found->certificates->path(), other + "/beta");
  ASSERT_OK(RemoveAll(certs_));
  EXPECT_THAT(
      CredentialsOfRun(run_dir_, ""),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("pass --certificates")));
  // The next start does not encrypt.
  ASSERT_OK(TakeRunCredentials(run_dir_, "", true));
  ASSERT_OK_AND_ASSIGN(found, CredentialsOfRun(run_dir_, ""));
  EXPECT_EQ(found->certificates, nullptr);
  EXPECT_TRUE(found->insecure_network);
}

}  // namespace
}  // namespace gandem
