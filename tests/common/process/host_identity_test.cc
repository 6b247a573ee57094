// SPDX-License-Identifier: Apache-2.0
#include "common/process/host_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"

namespace gandem {
namespace {

using ::testing::ExitedWithCode;

TEST(HostIdentityTest, TheIdentityContainsMoreThanTheName) {
  char name[256] = {};
  ASSERT_EQ(gethostname(name, sizeof(name) - 1), 0);
  const HostIdentity host = ThisHost();
  EXPECT_EQ(host.name, name);
  EXPECT_EQ(host.text, ThisHost().text);
  const std::vector<std::string> parts = absl::StrSplit(host.text, '/');
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0], name);
  EXPECT_EQ(parts[1].size(), 36u) << parts[1];  // a UUID
  EXPECT_NE(parts[2], "0");
}

// For example a container: same machine, same name.
TEST(HostIdentityDeathTest, ANetworkNamespaceIsASeparateHost) {
  const auto run = [] {
    const HostIdentity before = ThisHost();
    // If namespaces are forbidden, all processes share one.
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) std::_Exit(0);
    const HostIdentity after = ThisHost();
    std::_Exit(before.name == after.name && before.text != after.text ? 0 : 1);
  };
  EXPECT_EXIT(run(), ExitedWithCode(0), "");
}

}  // namespace
}  // namespace gandem
