// SPDX-License-Identifier: Apache-2.0
#include "deploy/text_template.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/check.h"

namespace gandem {
namespace {

constexpr absl::string_view kMark = "__";

const std::string& ValueOf(absl::string_view name,
                           const TemplateValues& values) {
  const auto found = values.find(std::string(name));
  GANDEM_CHECK(found != values.end());
  return found->second;
}

void AddLine(absl::string_view line, const TemplateValues& values,
             std::string& filled) {
  const std::vector<absl::string_view> parts = absl::StrSplit(line, kMark);
  for (size_t i = 0; i < parts.size(); ++i) {
    // Every second part is a name between two marks.
    absl::StrAppend(&filled, i % 2 == 0 ? parts[i] : ValueOf(parts[i], values));
  }
  filled += '\n';
}

void AddLines(absl::string_view lines, absl::string_view indent,
              std::string& filled) {
  if (lines.empty()) return;
  absl::ConsumeSuffix(&lines, "\n");
  for (const absl::string_view line : absl::StrSplit(lines, '\n')) {
    absl::StrAppend(&filled, line.empty() ? "" : indent, line, "\n");
  }
}

}  // namespace

std::string FillIn(std::span<const unsigned char> text,
                   const TemplateValues& values) {
  absl::string_view rest(reinterpret_cast<const char*>(text.data()),
                         text.size());
  absl::ConsumeSuffix(&rest, "\n");
  std::string filled;
  std::vector<bool> shown = {true};  // one per open #@if
  for (const absl::string_view line : absl::StrSplit(rest, '\n')) {
    absl::string_view word = absl::StripLeadingAsciiWhitespace(line);
    const absl::string_view indent = line.substr(0, line.size() - word.size());
    if (absl::ConsumePrefix(&word, "#@if ")) {
      shown.push_back(shown.back() && !ValueOf(word, values).empty());
    } else if (word == "#@end") {
      shown.pop_back();
      GANDEM_CHECK(!shown.empty());
    } else if (!shown.back()) {
      continue;
    } else if (absl::ConsumePrefix(&word, "#@insert ")) {
      AddLines(ValueOf(word, values), indent, filled);
    } else {
      AddLine(line, values, filled);
    }
  }
  GANDEM_CHECK(shown.size() == 1);
  return filled;
}

}  // namespace gandem
