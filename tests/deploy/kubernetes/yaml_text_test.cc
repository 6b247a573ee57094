// SPDX-License-Identifier: Apache-2.0
#include "deploy/kubernetes/yaml_text.h"

#include <gtest/gtest.h>

namespace gandem {
namespace {

TEST(YamlTextTest, AmbiguousTextIsQuoted) {
  EXPECT_EQ(YamlQuoted("no"), "\"no\"");
  EXPECT_EQ(YamlQuoted("a\"b\\c"), "\"a\\\"b\\\\c\"");
  EXPECT_EQ(YamlQuoted("a\nb\tc"), "\"a\\nb\\u0009c\"");
  EXPECT_EQ(YamlList({"a", "b: #"}), "[\"a\", \"b: #\"]");
}

TEST(YamlTextTest, LinesKeepTheirIndentation) {
  EXPECT_EQ(YamlLines("a\n  b\n\nc"), " |2\n  a\n    b\n\n  c\n");
}

TEST(YamlTextTest, TextEndsWithOneNewline) {
  EXPECT_EQ(YamlLines("a\n\n\n"), " |2\n  a\n");
}

TEST(YamlTextTest, LinesThatYamlWouldChangeAreQuoted) {
  EXPECT_EQ(YamlLines("a\r\n"), " \"a\\u000d\\n\"\n");
  EXPECT_EQ(YamlLines("\xc3\xa4"), " \"\xc3\xa4\\n\"\n");
}

}  // namespace
}  // namespace gandem
