// SPDX-License-Identifier: Apache-2.0
#include "common/security/token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/synchronization/barrier.h"
#include "common/files/file.h"
#include "common/process/thread.h"
#include "common/security/credentials.h"
#include "common/security/private_file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::UnorderedElementsAre;

mode_t ModeOf(const std::string& path) {
  struct stat info = {};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

class TokenTest : public ::testing::Test {
 protected:
  const TempDir dir_;
  const std::string path_ = dir_ / "token";
};

TEST_F(TokenTest, TheTokenIsRandomAndReadableByItsOwnerOnly) {
  const mode_t before = umask(0);
  const auto token = ReadOrCreateToken(path_);
  umask(before);
  ASSERT_OK(token);
  EXPECT_THAT(*token, MatchesRegex("[0-9a-f]+"));
  EXPECT_EQ(token->size(), 64u);
  EXPECT_EQ(ModeOf(path_), 0600u);
  EXPECT_NE(*token, NewToken());
  ASSERT_OK_AND_ASSIGN(const auto names, ListDirectory(dir_.path()));
  EXPECT_THAT(names, ElementsAre("token"));
}

TEST_F(TokenTest, AnExistingTokenIsKept) {
  ASSERT_OK_AND_ASSIGN(const std::string token, ReadOrCreateToken(path_));
  ASSERT_OK_AND_ASSIGN(const std::string again, ReadOrCreateToken(path_));
  EXPECT_EQ(token, again);
  ASSERT_OK_AND_ASSIGN(const std::string read, ReadToken(path_));
  EXPECT_EQ(token, read);
}

TEST_F(TokenTest, ATokenThatOthersCanAccessIsRefused) {
  ASSERT_OK(ReadOrCreateToken(path_));
  for (const mode_t mode : {0640, 0604, 0620, 0602, 0610, 0644, 0777}) {
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    const auto refused = StatusIs(absl::StatusCode::kFailedPrecondition,
                                  AllOf(HasSubstr(path_), HasSubstr("chmod")));
    EXPECT_THAT(ReadToken(path_), refused);
    EXPECT_THAT(ReadOrCreateToken(path_), refused);
  }
  ASSERT_EQ(chmod(path_.c_str(), 0400), 0);
  EXPECT_OK(ReadToken(path_));
}

TEST_F(TokenTest, ADamagedTokenIsNamedAndNotReplaced) {
  const std::string good(64, '7');
  for (const std::string& text :
       {std::string(), std::string("\n"), good.substr(1), good + "7",
        good + "\n\n", "g" + good.substr(1), "F" + good.substr(1),
        std::string(64, '\0')}) {
    ASSERT_OK(RemoveAll(path_));
    ASSERT_OK(CreatePrivateFile(path_, text));
    EXPECT_THAT(ReadOrCreateToken(path_),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr(path_), HasSubstr("remove it"))));
    ASSERT_OK_AND_ASSIGN(const std::string still, ReadFile(path_));
    EXPECT_EQ(still, text);
  }
  ASSERT_OK(RemoveAll(path_));
  ASSERT_OK(CreatePrivateFile(path_, good + "\n"));
  EXPECT_OK(ReadToken(path_));
}

TEST_F(TokenTest, MissingAndOversizedFilesAreRefused) {
  EXPECT_THAT(ReadToken(path_), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK(CreatePrivateFile(path_, std::string(100'000, '7')));
  EXPECT_THAT(ReadToken(path_), StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr("another file")));
  const std::string fifo = dir_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(ReadToken(fifo), StatusIs(absl::StatusCode::kFailedPrecondition,
                                        HasSubstr("no regular file")));
  EXPECT_FALSE(ReadToken(dir_.path()).ok());
}

TEST_F(TokenTest, ConcurrentCreatorsGetTheSameToken) {
  constexpr int kThreads = 8;
  for (int round = 0; round < 20; ++round) {
    ASSERT_OK(RemoveAll(path_));
    std::vector<absl::StatusOr<std::string>> tokens(kThreads,
                                                    absl::UnknownError(""));
    absl::Barrier* const start = new absl::Barrier(kThreads);
    {
      std::vector<std::unique_ptr<Thread>> threads;
      for (int i = 0; i < kThreads; ++i) {
        threads.push_back(std::make_unique<Thread>("token", [&, i] {
          if (start->Block()) delete start;
          tokens[i] = ReadOrCreateToken(path_);
        }));
      }
    }
    std::set<std::string> different;
    for (const auto& token : tokens) {
      ASSERT_OK(token);
      different.insert(*token);
    }
    EXPECT_EQ(different.size(), 1u);
  }
}

TEST_F(TokenTest, TokensAreCompared) {
  const std::string token = NewToken();
  EXPECT_TRUE(IsToken(token, token));
  std::string other = token;
  other.back() = other.back() == '0' ? '1' : '0';
  EXPECT_FALSE(IsToken(token, other));
  EXPECT_FALSE(IsToken(token, token.substr(1)));
  EXPECT_FALSE(IsToken(token, ""));
  EXPECT_FALSE(IsToken("", ""));  // a process without a token accepts no client
}

TEST(CredentialsTest, TheTokenIsFoundInEveryAllowedPlace) {
  EXPECT_EQ(FindTokenFile("f", "/run", "unix:/r/state/control.sock"), "f");
  EXPECT_EQ(FindTokenFile("", "/run", "unix:/r/state/control.sock"),
            "/run/state/token");
  EXPECT_EQ(FindTokenFile("", "", "unix:/r/state/control.sock"),
            "/r/state/token");
  EXPECT_EQ(FindTokenFile("", "", "unix:/tmp/gandem-1/control"), "");
  EXPECT_EQ(FindTokenFile("", "", "10.0.0.1:7000"), "");
}

TEST(CredentialsTest, ARunCreatesItsSecretsOnce) {
  const TempDir run_dir;
  const std::string token = TokenPath(run_dir.path());
  const std::string certificates = RunCertificatesPath(token);
  const mode_t before = umask(0);
  EXPECT_OK(EnsureRunSecrets(run_dir.path()));
  umask(before);
  std::vector<std::string> texts;
  for (const std::string& path : {token, certificates}) {
    EXPECT_EQ(ModeOf(path), 0600u) << path;
    texts.push_back(ReadFile(path).value_or(""));
  }
  EXPECT_OK(EnsureRunSecrets(run_dir.path()));
  EXPECT_EQ(ReadFile(token).value_or(""), texts[0]);
  EXPECT_EQ(ReadFile(certificates).value_or(""), texts[1]);
  ASSERT_OK_AND_ASSIGN(const auto names, ListDirectory(ParentOf(token)));
  EXPECT_THAT(names, UnorderedElementsAre("certificates.pem", "token"));
}

TEST(CredentialsTest, CertificatesAreStoredBesideTheToken) {
  const TempDir run_dir;
  const std::string token = TokenPath(run_dir.path());
  ASSERT_OK(EnsureRunSecrets(run_dir.path()));
  ASSERT_OK_AND_ASSIGN(const Credentials found,
                       LoadCredentials(token, "", false));
  ASSERT_NE(found.certificates, nullptr);
  EXPECT_EQ(found.certificates->path(), RunCertificatesPath(token));
  ASSERT_OK_AND_ASSIGN(const Credentials insecure,
                       LoadCredentials(token, "", true));
  EXPECT_EQ(insecure.certificates, nullptr);
  ASSERT_OK(RemoveAll(RunCertificatesPath(token)));
  ASSERT_OK_AND_ASSIGN(const Credentials none,
                       LoadCredentials(token, "", false));
  EXPECT_EQ(none.certificates, nullptr);
  EXPECT_THAT(WhyUnencrypted(none),
              AllOf(HasSubstr(RunCertificatesPath(token)),
                    HasSubstr("--run_dir"), HasSubstr("--insecure_network")));
}

}  // namespace
}  // namespace gandem
