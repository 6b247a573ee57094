// SPDX-License-Identifier: Apache-2.0
#include "deploy/text_template.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/string_view.h"

namespace gandem {
namespace {

std::string Filled(absl::string_view text, const TemplateValues& values) {
  return FillIn(
      {reinterpret_cast<const unsigned char*>(text.data()), text.size()},
      values);
}

TEST(TextTemplateTest, ValuesAreInsertedUnchanged) {
  EXPECT_EQ(Filled("a=__x__ b=__y_z__\n", {{"x", "1"}, {"y_z", ""}}),
            "a=1 b=\n");
  EXPECT_EQ(Filled("__x__\n", {{"x", "__x__ #@end"}}), "__x__ #@end\n");
}

TEST(TextTemplateTest, InsertedLinesAreIndentedLikeTheirPlaceholder) {
  EXPECT_EQ(Filled("a:\n  #@insert x\nb\n", {{"x", "- 1\n\n  #@end\n"}}),
            "a:\n  - 1\n\n    #@end\nb\n");
  EXPECT_EQ(Filled("a\n  #@insert x\nb\n", {{"x", ""}}), "a\nb\n");
}

TEST(TextTemplateTest, LinesDependOnWhetherAValueIsEmpty) {
  constexpr absl::string_view kText =
      "#@if x\n"
      "  x\n"
      "  #@if y\n"
      "  x and y\n"
      "  #@end\n"
      "#@end\n"
      "end\n";
  EXPECT_EQ(Filled(kText, {{"x", "1"}, {"y", "1"}}), "  x\n  x and y\nend\n");
  EXPECT_EQ(Filled(kText, {{"x", "1"}, {"y", ""}}), "  x\nend\n");
  EXPECT_EQ(Filled(kText, {{"x", ""}, {"y", "1"}}), "end\n");
}

TEST(TextTemplateDeathTest, MistakesInTemplatesAbort) {
  EXPECT_DEATH(Filled("__x__\n", {}), "");
  EXPECT_DEATH(Filled("#@if x\n", {{"x", ""}}), "");
}

}  // namespace
}  // namespace gandem
