// SPDX-License-Identifier: Apache-2.0
//
// The main() of the test programs. --tests_of=PATH runs only the tests in the
// source file PATH: one program can contain many files (gandem_tests in
// cmake/GandemTarget.cmake), each of which is a test in ctest. The process has
// the credentials of a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "common/matrix_tiles.h"
#include "tests/testing/test_credentials.h"

namespace {

constexpr std::string_view kFlag = "--tests_of=";

// Returns whether the path `full` ends in the whole components of `path`.
bool IsFile(std::string_view full, std::string_view path) {
  if (!full.ends_with(path)) return false;
  full.remove_suffix(path.size());
  return full.empty() || full.back() == '/';
}

// Returns a filter for exactly the tests of `path`; empty if there are none.
std::string FilterFor(std::string_view path) {
  std::string filter;
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const ::testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int k = 0; k < suite.total_test_count(); ++k) {
      const ::testing::TestInfo& test = *suite.GetTestInfo(k);
      if (!IsFile(test.file(), path)) continue;
      filter += std::string(suite.name()) + "." + test.name() + ":";
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  gandem::testing::UseTestCredentials();
  gandem::HideTilesWithoutSize();
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with(kFlag)) continue;
    const std::string filter = FilterFor(argument.substr(kFlag.size()));
    if (filter.empty()) {
      std::fprintf(stderr, "%s: no test of this program is there\n", argv[i]);
      return 1;
    }
    ::testing::GTEST_FLAG(filter) = filter;
  }
  return RUN_ALL_TESTS();
}
