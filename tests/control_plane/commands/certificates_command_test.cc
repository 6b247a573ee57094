// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/certificates_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <sstream>
#include <string>

#include "common/files/file.h"
#include "common/security/certificates.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

class CertificatesCommandTest : public ::testing::Test {
 protected:
  absl::Status Run(CertificatesOptions options) {
    options.folder = folder_;
    out_.str("");
    return RunCertificates(options, out_);
  }

  const TempDir dir_;
  const std::string folder_ = dir_ / "certs";
  std::ostringstream out_;
};

TEST_F(CertificatesCommandTest, MakesOneForEachHostAndSaysWhatToCopy) {
  ASSERT_OK(Run({.hosts = {"alpha,10.0.0.1", "beta"}}));
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("an authority and 2 certificates"),
                                HasSubstr("to alpha, 10.0.0.1:\n"),
                                HasSubstr(folder_ + "/alpha.key"),
                                HasSubstr(folder_ + "/beta.crt"),
                                HasSubstr("Keep " + folder_ + "/ca.key here")));
  ASSERT_OK_AND_ASSIGN(const auto alpha,
                       Certificates::Load(folder_ + "/alpha"));
  EXPECT_OK(alpha->CheckServes("10.0.0.1"));
  ASSERT_OK_AND_ASSIGN(const std::string beta, ReadFile(folder_ + "/beta.crt"));
  const absl::Time now = absl::Now();
  EXPECT_OK(alpha->CheckServer(beta, "beta", now + absl::Hours(24 * 396)));
  EXPECT_FALSE(
      alpha->CheckServer(beta, "beta", now + absl::Hours(24 * 398)).ok());

  // A host that comes later is of the same authority.
  ASSERT_OK(Run({.hosts = {"gamma"}, .days = 1}));
  EXPECT_THAT(out_.str(), HasSubstr("made 1 certificate in"));
  ASSERT_OK_AND_ASSIGN(const std::string gamma,
                       ReadFile(folder_ + "/gamma.crt"));
  EXPECT_OK(alpha->CheckServer(gamma, "gamma", now));
  EXPECT_THAT(Run({.hosts = {"gamma"}}),
              StatusIs(absl::StatusCode::kAlreadyExists));

  ASSERT_OK(Run({.revoke = "beta"}));
  EXPECT_THAT(out_.str(), HasSubstr("copy " + folder_ + "/revoked"));
  EXPECT_FALSE(alpha->CheckServer(beta, "beta", now).ok());
}

TEST_F(CertificatesCommandTest, ForThisHostUnlessOthersAreNamed) {
  ASSERT_OK(Run({}));
  char name[256] = {};
  ASSERT_EQ(gethostname(name, sizeof(name) - 1), 0);
  ASSERT_OK_AND_ASSIGN(const auto own, Certificates::Load(folder_));
  EXPECT_OK(own->CheckServes(name));
}

}  // namespace
}  // namespace gandem
