// SPDX-License-Identifier: Apache-2.0
#include "deploy/kubernetes/yaml_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace gandem {
namespace {

bool IsControl(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

// Returns whether YAML lines can hold `text`. Rejects bytes above 0x7f, because
// YAML 1.1 ends lines at characters such as U+0085 and U+2028.
bool FitsIntoLines(absl::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return c == '\n' || (!IsControl(c) && static_cast<unsigned char>(c) < 0x80);
  });
}

}  // namespace

std::string YamlQuoted(absl::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (IsControl(c)) {
      absl::StrAppendFormat(&quoted, "\\u%04x", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string YamlList(const std::vector<std::string>& texts) {
  return absl::StrCat(
      "[",
      absl::StrJoin(texts, ", ",
                    [](std::string* out, const std::string& text) {
                      out->append(YamlQuoted(text));
                    }),
      "]");
}

std::string YamlLines(absl::string_view text) {
  while (absl::ConsumeSuffix(&text, "\n")) {
  }
  if (!FitsIntoLines(text)) {
    return absl::StrCat(" ", YamlQuoted(absl::StrCat(text, "\n")), "\n");
  }
  // The 2, an indentation in spaces, lets the first line begin with spaces.
  std::string lines = " |2\n";
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    absl::StrAppend(&lines, line.empty() ? "" : "  ", line, "\n");
  }
  return lines;
}

}  // namespace gandem
