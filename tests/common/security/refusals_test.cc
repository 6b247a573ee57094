// SPDX-License-Identifier: Apache-2.0
#include "common/security/refusals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace gandem {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

TEST(RefusalsTest, OneLinePerSecondCountsTheOmittedRefusals) {
  Refusals refusals;
  const absl::Time start = absl::UnixEpoch() + absl::Hours(1);
  EXPECT_THAT(refusals.Add("first", start), Optional(std::string("first")));
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(refusals.Add("more", start + absl::Milliseconds(i % 1000)),
              std::nullopt);
  }
  EXPECT_THAT(refusals.Add("next", start + absl::Seconds(1)),
              Optional(HasSubstr("next (and 1000 other refusals")));
  EXPECT_THAT(refusals.Add("last", start + absl::Seconds(3)),
              Optional(std::string("last")));
  EXPECT_EQ(refusals.count(), 1003);
}

TEST(RefusalsTest, RefusalsOfTheProcessAreCounted) {
  const int64_t before = NumRefusals();
  NoteRefusal("a test");
  NoteRefusal("a test");
  EXPECT_EQ(NumRefusals() - before, 2);
}

}  // namespace
}  // namespace gandem
