// SPDX-License-Identifier: Apache-2.0
#include "common/files/printable.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/files/utf8.h"

namespace gandem {
namespace {

constexpr absl::string_view kEllipsis = "...";

// U+0080 to U+009F: some terminals interpret them as escapes.
bool IsC1(absl::string_view character) {
  return character.size() == 2 && character[0] == '\xc2' &&
         static_cast<unsigned char>(character[1]) < 0xa0;
}

std::string Escaped(absl::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    absl::StrAppend(
        &text, "\\x",
        absl::Hex(static_cast<unsigned char>(byte), absl::kZeroPad2));
  }
  return text;
}

std::string Shown(absl::string_view character, bool keeps_lines) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (first == '\n') return keeps_lines ? "\n" : "\\n";
  if (first == '\t') return keeps_lines ? "\t" : "\\t";
  const bool is_control = first < 0x20 || first == 0x7f || IsC1(character);
  if (is_control || !IsValidUtf8(character)) return Escaped(character);
  return std::string(character);
}

// Returns the first character, or one byte if it is not valid UTF-8.
absl::string_view FirstOf(absl::string_view text) {
  size_t size = 1;
  while (size < text.size() && size < 4 &&
         (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) {
    ++size;
  }
  const absl::string_view character = text.substr(0, size);
  return IsValidUtf8(character) ? character : text.substr(0, 1);
}

std::string Show(absl::string_view text, size_t max_bytes, bool keeps_lines) {
  std::string shown;
  size_t cut = 0;  // where an ellipsis still fits
  while (!text.empty()) {
    const absl::string_view character = FirstOf(text);
    text.remove_prefix(character.size());
    absl::StrAppend(&shown, Shown(character, keeps_lines));
    if (shown.size() > max_bytes) {
      shown.resize(cut);
      return absl::StrCat(shown, kEllipsis);
    }
    if (shown.size() + kEllipsis.size() <= max_bytes) cut = shown.size();
  }
  return shown;
}

}  // namespace

std::string Printable(absl::string_view text, size_t max_bytes) {
  return Show(text, std::max(max_bytes, kEllipsis.size()),
              /*keeps_lines=*/false);
}

std::string PrintableText(absl::string_view text) {
  return Show(text, std::numeric_limits<size_t>::max() - kEllipsis.size(),
              /*keeps_lines=*/true);
}

}  // namespace gandem
