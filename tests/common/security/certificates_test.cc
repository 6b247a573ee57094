// SPDX-License-Identifier: Apache-2.0
#include "common/security/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/security/certificate_authority.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/testing/test_certificates.h"

namespace gandem {
namespace {

using ::gandem::testing::AroundNow;
using ::gandem::testing::LoadedCertificates;
using ::gandem::testing::MakeAuthority;
using ::gandem::testing::MakeCertificate;
using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

class CertificatesTest : public ::testing::Test {
 protected:
  CertificatesTest() {
    MakeAuthority(folder_);
    MakeCertificate(folder_,
                    {"alpha", "alpha.example.org", "10.0.0.1", "fd00::1"});
  }
  std::string File(const std::string& name) const {
    return absl::StrCat(folder_, "/", name);
  }
  std::string Pem(const std::string& name) const {
    return ReadFile(File(name)).value_or("");
  }
  void Copy(const std::string& from, const std::string& to) {
    ASSERT_OK(WriteFile(to, ReadFile(from).value_or("")));
    ASSERT_EQ(chmod(to.c_str(), 0600), 0);
  }

  const TempDir dir_;
  const std::string folder_ = dir_ / "certs";
};

TEST_F(CertificatesTest, AreGoodForTheirHostsAndAsClients) {
  for (const std::string& path : {folder_, folder_ + "/", File("alpha")}) {
    EXPECT_OK(Certificates::Load(path));
  }
  const auto own = LoadedCertificates(folder_, "alpha");
  EXPECT_EQ(own->path(), File("alpha"));
  const absl::Time now = absl::Now();
  EXPECT_OK(own->CheckClient(Pem("alpha.crt"), now));
  for (const char* const host : {"alpha", "ALPHA", "alpha.example.org",
                                 "10.0.0.1", "fd00::1", "fd00:0::1"}) {
    EXPECT_OK(own->CheckServer(Pem("alpha.crt"), host, now)) << host;
    EXPECT_OK(own->CheckServes(host)) << host;
  }
  for (const char* const host :
       {"beta", "10.0.0.2", "example.org", "a.alpha"}) {
    EXPECT_THAT(own->CheckServer(Pem("alpha.crt"), host, now),
                StatusIs(absl::StatusCode::kUnauthenticated,
                         HasSubstr(absl::StrCat(
                             "not for ", host,
                             " but for alpha, alpha.example.org, 10.0.0.1, "
                             "fd00::1"))));
    EXPECT_THAT(own->CheckServes(host),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr(host), HasSubstr("--host"))));
  }
}

TEST_F(CertificatesTest, OfAnotherAuthorityOrNoneAreRefused) {
  const std::string other = dir_ / "other";
  MakeAuthority(other);
  MakeCertificate(other, {"alpha"});
  const auto own = LoadedCertificates(folder_, "alpha");
  const auto refused = [](const char* why) {
    return StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr(why));
  };
  const absl::Time now = absl::Now();
  EXPECT_THAT(
      own->CheckClient(ReadFile(other + "/alpha.crt").value_or(""), now),
      refused("another authority"));
  EXPECT_THAT(own->CheckServer(ReadFile(other + "/alpha.crt").value_or(""),
                               "alpha", now),
              refused("another authority"));
  // The authority's own, of either.
  EXPECT_THAT(
      own->CheckServer(ReadFile(other + "/ca.crt").value_or(""), "alpha", now),
      refused("certificate of gandem run"));
  EXPECT_THAT(own->CheckClient("", now), refused("shows no certificate"));
  EXPECT_THAT(own->CheckClient("-----BEGIN", now), refused("no certificate"));
}

TEST_F(CertificatesTest, CountOnlyInTheirTime) {
  const absl::Time now = absl::Now();
  MakeCertificate(folder_, {"old"},
                  {now - absl::Hours(48), now - absl::Hours(24)});
  MakeCertificate(folder_, {"new"},
                  {now + absl::Hours(24), now + absl::Hours(48)});
  const auto own = LoadedCertificates(folder_, "alpha");
  EXPECT_THAT(own->CheckClient(Pem("old.crt"), now),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       HasSubstr("certificate of old: it has expired")));
  EXPECT_THAT(own->CheckServer(Pem("new.crt"), "new", now),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       HasSubstr("it is valid from")));
  EXPECT_THAT(
      own->CheckClient(Pem("alpha.crt"), now + absl::Hours(24)),
      StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("expired")));
  // Their own process is told at its start.
  EXPECT_THAT(Certificates::Load(File("old")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("old.crt"), HasSubstr("expired"))));
  EXPECT_THAT(Certificates::Load(File("new")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("new.crt"), HasSubstr("valid from"))));
}

TEST_F(CertificatesTest, RevokingCountsAtOnce) {
  MakeCertificate(folder_, {"beta"});
  const auto own = LoadedCertificates(folder_, "alpha");
  const absl::Time now = absl::Now();
  EXPECT_OK(own->CheckClient(Pem("beta.crt"), now));
  ASSERT_OK(RevokeCertificate(folder_, "beta"));
  ASSERT_OK(RevokeCertificate(folder_, "beta"));
  EXPECT_THAT(own->CheckClient(Pem("beta.crt"), now),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       AllOf(HasSubstr("certificate of beta: it is revoked"),
                             HasSubstr("/revoked"))));
  EXPECT_OK(own->CheckClient(Pem("alpha.crt"), now));
  EXPECT_THAT(
      Certificates::Load(File("beta")),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("revoked")));
  EXPECT_THAT(RevokeCertificate(folder_, "gamma"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("gamma.crt")));
  EXPECT_THAT(
      RevokeCertificate(dir_ / "other", "../certificates/alpha"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is a path")));
  // A list that cannot be read lets nobody in.
  ASSERT_OK(RemoveAll(RevokedPath(folder_)));
  ASSERT_OK(CreateDirectories(RevokedPath(folder_)));
  EXPECT_FALSE(own->CheckClient(Pem("alpha.crt"), now).ok());
}

TEST_F(CertificatesTest, BadFilesAreNamed) {
  const std::string copy = dir_ / "copy";
  const auto load = [&] { return Certificates::Load(copy).status(); };
  EXPECT_THAT(load(), StatusIs(absl::StatusCode::kNotFound,
                               AllOf(HasSubstr("/copy' is no folder"),
                                     HasSubstr("/copy.crt'"),
                                     HasSubstr("gandem certificates"))));
  ASSERT_OK(CreateDirectories(copy));
  EXPECT_THAT(load(), StatusIs(absl::StatusCode::kNotFound,
                               HasSubstr("gandem certificates")));
  Copy(File("alpha.key"), copy + "/alpha.key");
  EXPECT_THAT(load(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/ca.crt")));
  Copy(File("ca.crt"), copy + "/ca.crt");
  EXPECT_THAT(load(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/alpha.crt")));
  ASSERT_OK(WriteFile(copy + "/alpha.crt", "garbage"));
  EXPECT_THAT(load(), StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("alpha.crt' holds no certificate")));
  Copy(File("alpha.crt"), copy + "/alpha.crt");
  EXPECT_OK(load());
  ASSERT_EQ(chmod((copy + "/alpha.key").c_str(), 0644), 0);
  EXPECT_THAT(load(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("alpha.key"), HasSubstr("chmod 600"))));
  Copy(File("ca.key"), copy + "/alpha.key");
  EXPECT_THAT(load(), StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("alpha.key' is not the key of")));
  ASSERT_OK(WriteFile(copy + "/alpha.key", "garbage"));
  EXPECT_THAT(load(), StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("holds no private key")));
  Copy(File("alpha.key"), copy + "/alpha.key");
  const std::string other = dir_ / "other";
  MakeAuthority(other);
  Copy(other + "/ca.crt", copy + "/ca.crt");
  EXPECT_THAT(load(), StatusIs(absl::StatusCode::kFailedPrecondition,
                               HasSubstr("another authority")));
}

TEST_F(CertificatesTest, SeveralNeedAName) {
  MakeCertificate(folder_, {"beta"});
  EXPECT_THAT(
      Certificates::Load(folder_),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("alpha, beta"), HasSubstr(folder_ + "/alpha"))));
  EXPECT_OK(Certificates::Load(File("beta")));
}

TEST_F(CertificatesTest, NothingIsOverwritten) {
  const std::string authority = Pem("ca.crt");
  const std::string certificate = Pem("alpha.crt");
  ASSERT_OK_AND_ASSIGN(const bool made, EnsureAuthority(folder_, AroundNow()));
  EXPECT_FALSE(made);
  EXPECT_THAT(IssueCertificate(folder_, {"alpha"}, AroundNow()),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       AllOf(HasSubstr("alpha.crt"), HasSubstr("move it"))));
  EXPECT_EQ(Pem("ca.crt"), authority);
  EXPECT_EQ(Pem("alpha.crt"), certificate);
  ASSERT_OK(RemoveAll(File("ca.key")));
  EXPECT_THAT(EnsureAuthority(folder_, AroundNow()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("without its ca.key")));
}

TEST_F(CertificatesTest, NamesOfHostsAreChecked) {
  for (const char* const host :
       {"", "a b", "a/b", "../x", "a,DNS:b", "ca", "-x", ".x", "a\n"}) {
    EXPECT_THAT(IssueCertificate(folder_, {host}, AroundNow()),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << host;
  }
  EXPECT_THAT(IssueCertificate(folder_, {}, AroundNow()),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(CertificateName({"fd00::2", "x"}), "fd00--2");
  EXPECT_OK(IssueCertificate(folder_, {"fd00::2", "x"}, AroundNow()));
  EXPECT_OK(Certificates::Load(File("fd00--2")));
}

TEST_F(CertificatesTest, KeysAreForTheirOwnerOnly) {
  for (const char* const key : {"ca.key", "alpha.key"}) {
    struct stat info = {};
    ASSERT_EQ(stat(File(key).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0600u) << key;
  }
}

// Whoever has a host's key cannot make certificates with it.
TEST_F(CertificatesTest, AHostIsNoAuthority) {
  const std::string other = dir_ / "other";
  ASSERT_OK(CreateDirectories(other));
  Copy(File("alpha.crt"), other + "/ca.crt");
  Copy(File("alpha.key"), other + "/ca.key");
  MakeCertificate(other, {"evil"});
  const auto own = LoadedCertificates(folder_, "alpha");
  EXPECT_THAT(
      own->CheckClient(ReadFile(other + "/evil.crt").value_or(""), absl::Now()),
      StatusIs(absl::StatusCode::kUnauthenticated));
}

}  // namespace
}  // namespace gandem
