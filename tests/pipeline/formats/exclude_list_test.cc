// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/exclude_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ExcludeListTest, NamesAreReadInOrderWithReasons) {
  const std::string text =
      FormatExcludeList({{.key = "b/2.png", .reason = "damaged PNG"},
                         {.key = "a/1.jpg", .reason = "it has\nno bytes"}});
  EXPECT_THAT(text, HasSubstr("\n# it has\\nno bytes\na/1.jpg\n"
                              "# damaged PNG\nb/2.png\n"));
  EXPECT_THAT(*ParseExcludeList(text), ElementsAre("a/1.jpg", "b/2.png"));
  EXPECT_THAT(*ParseExcludeList(FormatExcludeList({})), IsEmpty());
}

TEST(ExcludeListTest, AnyNameIsReadBack) {
  const std::vector<std::string> names = {" a",   "#b",       "\"c\"",
                                          "\\d",  "e\nf.png", "gr\xc3\xbcn.png",
                                          "h \t", "i\xff.png"};
  for (const std::string& name : names) {
    EXPECT_THAT(*ParseExcludeList(FormatExcludeList({{name, ""}})),
                ElementsAre(name));
  }
}

TEST(ExcludeListTest, AHandWrittenListIsRead) {
  EXPECT_THAT(*ParseExcludeList("\n  b.png \r\n# a.png\n\na.png\nb.png"),
              ElementsAre("a.png", "b.png"));
  EXPECT_THAT(*ParseExcludeList(""), IsEmpty());
}

TEST(ExcludeListTest, FaultsNameTheLine) {
  for (const char* const line : {"\"a.png", "\"", "\"a\\xzz\""}) {
    EXPECT_THAT(ParseExcludeList(std::string("ok.png\n") + line),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("line 2: expected the name of an image")));
  }
}

}  // namespace
}  // namespace gandem
