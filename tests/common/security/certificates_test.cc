// SPDX-License-Identifier: Apache-2.0
#include "common/security/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/security/private_file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/testing/test_certificates.h"

namespace gandem {
namespace {

using ::gandem::testing::IssueCertificate;
using ::gandem::testing::LoadedCertificates;
using ::gandem::testing::MakeAuthority;
using ::gandem::testing::NewCertificatesOfRun;
using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

class CertificatesTest : public ::testing::Test {
 protected:
  CertificatesTest() {
    MakeAuthority(folder_);
    IssueCertificate(folder_,
                     {"alpha", "alpha.example.org", "10.0.0.1", "fd00::1"});
  }
  std::string File(const std::string& name) const {
    return absl::StrCat(folder_, "/", name);
  }
  void Copy(const std::string& from, const std::string& to) {
    ASSERT_OK(WriteFile(to, ReadFile(from).value_or("")));
    ASSERT_EQ(chmod(to.c_str(), 0600), 0);
  }

  const TempDir dir_;
  const std::string folder_ = dir_ / "certs";
};

TEST_F(CertificatesTest, CertificatesAreValidForTheirHosts) {
  const auto own = LoadedCertificates(folder_, "alpha");
  EXPECT_EQ(own->path(), File("alpha"));
  for (const char* const host : {"alpha", "ALPHA", "alpha.example.org",
                                 "10.0.0.1", "fd00::1", "fd00:0::1"}) {
    EXPECT_OK(own->CheckServes(host)) << host;
  }
  for (const char* const host :
       {"beta", "10.0.0.2", "example.org", "a.alpha"}) {
    EXPECT_THAT(own->CheckServes(host),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr(absl::StrCat(
                                   "not for ", host,
                                   " but for DNS:alpha, DNS:alpha.example.org, "
                                   "IP Address:10.0.0.1, IP Address:FD00:")),
                               HasSubstr(absl::StrCat("that is for ", host)))));
  }
}

TEST_F(CertificatesTest, CertificatesAreValidOnlyInTheirPeriod) {
  const absl::Time now = absl::Now();
  IssueCertificate(folder_, {"old"},
                   {now - absl::Hours(48), now - absl::Hours(24)});
  IssueCertificate(folder_, {"new"},
                   {now + absl::Hours(24), now + absl::Hours(48)});
  EXPECT_THAT(Certificates::Load(File("old")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("old.crt"), HasSubstr("expired"))));
  EXPECT_THAT(Certificates::Load(File("new")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("new.crt"), HasSubstr("valid from"))));
}

TEST_F(CertificatesTest, InvalidFilesAreNamed) {
  const std::string copy = dir_ / "copy";
  const auto load = [&] {
    return Certificates::Load(copy + "/alpha").status();
  };
  EXPECT_THAT(load(),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("/copy/alpha.crt'"),
                             HasSubstr("ca.crt, NAME.crt and NAME.key"))));
  ASSERT_OK(CreateDirectories(copy));
  ASSERT_OK(WriteFile(copy + "/alpha.crt", "garbage"));
  EXPECT_THAT(load(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/ca.crt")));
  Copy(File("ca.crt"), copy + "/ca.crt");
  EXPECT_THAT(load(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/alpha.key")));
  Copy(File("alpha.key"), copy + "/alpha.key");
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

// A host's key must not be able to sign certificates.
TEST_F(CertificatesTest, AHostCertificateIsNotAnAuthority) {
  const std::string other = dir_ / "other";
  ASSERT_OK(CreateDirectories(other));
  Copy(File("alpha.crt"), other + "/ca.crt");
  Copy(File("alpha.key"), other + "/ca.key");
  IssueCertificate(other, {"evil"});
  EXPECT_THAT(Certificates::Load(other + "/evil"),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

class CertificatesOfRunTest : public ::testing::Test {
 protected:
  const TempDir dir_;
  const std::string path_ = dir_ / "certificates.pem";
};

TEST_F(CertificatesOfRunTest, AreValidForAllHostsAndForYears) {
  const auto own = NewCertificatesOfRun(path_);
  EXPECT_EQ(own->path(), path_);
  EXPECT_TRUE(own->are_of_run());
  EXPECT_OK(own->CheckServes("alpha"));
  ASSERT_OK_AND_ASSIGN(const X509Ptr shown,
                       ParseCertificate(own->certificate_pem(), path_));
  EXPECT_LT(NotBefore(shown.get()), absl::Now() - absl::Hours(23));
  EXPECT_GT(NotAfter(shown.get()), absl::Now() + absl::Hours(24 * 365 * 19));
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(path_));
  EXPECT_EQ(own->Text(), text);
}

TEST_F(CertificatesOfRunTest, InvalidFilesAreNamedWithTheRemedy) {
  const std::string good = NewCertificatesOfRun(path_)->Text();
  const auto load = [&] { return Certificates::LoadOfRun(path_).status(); };
  ASSERT_EQ(chmod(path_.c_str(), 0640), 0);
  EXPECT_THAT(load(), StatusIs(absl::StatusCode::kFailedPrecondition,
                               AllOf(HasSubstr(path_), HasSubstr("chmod"))));
  for (const std::string& text :
       {std::string(), std::string("garbage"), good.substr(0, good.size() / 2),
        good.substr(good.size() / 2)}) {
    ASSERT_OK(RemoveAll(path_));
    ASSERT_OK(CreatePrivateFile(path_, text));
    EXPECT_THAT(load(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(path_), HasSubstr("remove the file"))))
        << text;
  }
  ASSERT_OK(RemoveAll(path_));
  EXPECT_THAT(load(), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace gandem
