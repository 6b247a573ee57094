// SPDX-License-Identifier: Apache-2.0
#include "common/process/cores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<int> kAllowed = {0, 1, 2, 3, 8};

TEST(CoresTest, ListsAndRangesAreParsed) {
  ASSERT_OK_AND_ASSIGN(const std::vector<int> cores,
                       ParseCores("8,1-3,2", kAllowed));
  EXPECT_THAT(cores, ElementsAre(1, 2, 3, 8));
  EXPECT_EQ(CoresText(cores), "1-3,8");
  ASSERT_OK_AND_ASSIGN(const std::vector<int> one, ParseCores("0", kAllowed));
  EXPECT_EQ(CoresText(one), "0");
}

TEST(CoresTest, InvalidListsAreRefused) {
  for (const char* text : {"", "a", "1,", "2-1", "-1", "1-2-3", "0-99999"}) {
    EXPECT_THAT(ParseCores(text, kAllowed),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("expected one like 0-3,6")))
        << text;
  }
}

TEST(CoresTest, ACoreThatIsNotAllowedIsRefused) {
  EXPECT_THAT(ParseCores("3-4", kAllowed),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("core 4 of '3-4' is not among those that this "
                                 "process may use: 0-3,8")));
}

TEST(CoresTest, DifferenceRemovesTheSecondSet) {
  EXPECT_THAT(CoresWithout(kAllowed, std::vector<int>{1, 8}),
              ElementsAre(0, 2, 3));
  EXPECT_THAT(CoresWithout(kAllowed, kAllowed), IsEmpty());
}

TEST(CoresTest, AThreadRunsOnItsCores) {
  const std::vector<int> last = {AllowedCores().back()};
  std::thread([&last] {
    ASSERT_OK(RunOnCores(last));
    EXPECT_EQ(AllowedCores(), last);
  }).join();
}

}  // namespace
}  // namespace gandem
