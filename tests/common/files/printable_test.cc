// SPDX-License-Identifier: Apache-2.0
#include "common/files/printable.h"

#include <gtest/gtest.h>

#include <string>

namespace gandem {
namespace {

TEST(PrintableTest, ControlCharactersAreEscaped) {
  EXPECT_EQ(Printable("loss 0.5, 'a\\b'", 100), "loss 0.5, 'a\\b'");
  EXPECT_EQ(Printable("\x1b[2J\x1b]0;x\x07", 100), "\\x1b[2J\\x1b]0;x\\x07");
  EXPECT_EQ(Printable("a\r\nb\tc\x7f", 100), "a\\x0d\\nb\\tc\\x7f");
  EXPECT_EQ(Printable(std::string("a\0b", 3), 100), "a\\x00b");
}

TEST(PrintableTest, OtherLanguagesAreUnchanged) {
  const std::string text = "m\u00fcde \u65e5\u672c \U0001f642";
  EXPECT_EQ(Printable(text, 100), text);
  EXPECT_EQ(PrintableText(text), text);
  // CSI as one character, as bytes and in overlong encoding.
  EXPECT_EQ(Printable("\u009b2J", 100), "\\xc2\\x9b2J");
  EXPECT_EQ(Printable("\x9b"
                      "2J",
                      100),
            "\\x9b2J");
  EXPECT_EQ(Printable("\xc0\x9b", 100), "\\xc0\\x9b");
  EXPECT_EQ(Printable("\u00a0x", 100), "\u00a0x");
}

TEST(PrintableTest, LongTextIsTruncatedBetweenCharacters) {
  EXPECT_EQ(Printable("12345678", 8), "12345678");
  EXPECT_EQ(Printable("123456789", 8), "12345...");
  EXPECT_EQ(Printable("1234\u00fc6789", 8), "1234...");
  EXPECT_EQ(Printable("1234\x1b"
                      "6789",
                      8),
            "1234...");
  EXPECT_EQ(Printable(std::string(1 << 20, '\x1b'), 100).size(), 99);
  EXPECT_EQ(Printable("abcd", 0), "...");
}

TEST(PrintableTest, MultilineTextKeepsItsLines) {
  EXPECT_EQ(PrintableText("a\n\tb\x1b[m\n"), "a\n\tb\\x1b[m\n");
}

}  // namespace
}  // namespace gandem
