// SPDX-License-Identifier: Apache-2.0
#include "common/control/majority.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gandem {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Values = std::vector<int>;

TEST(OutsideMajorityTest, EqualValuesHaveNoOutsiders) {
  EXPECT_THAT(OutsideMajority(Values{}), IsEmpty());
  EXPECT_THAT(OutsideMajority(Values{7}), IsEmpty());
  EXPECT_THAT(OutsideMajority(Values{7, 7, 7}), IsEmpty());
}

TEST(OutsideMajorityTest, TheMinorityIsOutsideWhateverItsValuesAre) {
  EXPECT_THAT(OutsideMajority(Values{9, 7, 7}), ElementsAre(0));
  EXPECT_THAT(OutsideMajority(Values{7, 7, 1, 7, 9}), ElementsAre(2, 4));
}

TEST(OutsideMajorityTest, HalfIsNotAMajority) {
  EXPECT_THAT(OutsideMajority(Values{1, 2}), ElementsAre(0, 1));
  EXPECT_THAT(OutsideMajority(Values{1, 2, 2, 1}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(OutsideMajority(Values{1, 2, 3}), ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace gandem
