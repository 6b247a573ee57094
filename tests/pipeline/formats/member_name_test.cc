// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/member_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

TEST(MemberNameTest, EveryNotationOfANameIsNormalized) {
  for (const char* const name :
       {"a/0.png", "./a/0.png", "a/./0.png", "a//0.png", "/a/0.png",
        ".//./a/0.png", "a/0.png/"}) {
    EXPECT_EQ(*NormalMemberName(name), "a/0.png") << name;
  }
  for (const char* const name : {"a..b/..c/d...png", ".hidden", "a\\0.png"}) {
    EXPECT_EQ(*NormalMemberName(name), name);
  }
  EXPECT_EQ(*NormalMemberName("./"), "");
}

TEST(MemberNameTest, NamesOutsideTheFolderAreRefused) {
  for (const char* const name : {"..", "../0.png", "a/../0.png", "a/.."}) {
    EXPECT_THAT(NormalMemberName(name),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("leads out of the archive")))
        << name;
  }
}

}  // namespace
}  // namespace gandem
