// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/exclude_list.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace gandem {
namespace {

bool NeedsQuotes(absl::string_view key) {
  if (key.empty() || key.front() == '#' || key.front() == '"') return true;
  if (absl::ascii_isspace(key.front()) || absl::ascii_isspace(key.back())) {
    return true;
  }
  return std::ranges::any_of(
      key, [](char c) { return c == '\\' || absl::ascii_iscntrl(c); });
}

absl::Status BadLine(int64_t number) {
  return absl::InvalidArgumentError(absl::StrCat(
      "line ", number,
      ": expected the name of an image, or that in double quotes and escaped "
      "as in C, as `gandem dataset verify --exclude` writes it"));
}

}  // namespace

std::string FormatExcludeList(std::vector<ExcludedImage> images) {
  std::ranges::sort(images, {}, &ExcludedImage::key);
  std::string text =
      "# Images that data.exclude leaves out (docs/data.md): a name in each "
      "line.\n";
  for (const ExcludedImage& image : images) {
    absl::StrAppend(&text, "# ", absl::Utf8SafeCEscape(image.reason), "\n");
    if (NeedsQuotes(image.key)) {
      absl::StrAppend(&text, "\"", absl::Utf8SafeCEscape(image.key), "\"\n");
    } else {
      absl::StrAppend(&text, image.key, "\n");
    }
  }
  return text;
}

absl::StatusOr<std::vector<std::string>> ParseExcludeList(
    absl::string_view text) {
  std::vector<std::string> keys;
  int64_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#') continue;
    std::string key(line);
    if (line.front() == '"') {
      if (line.size() < 2 || line.back() != '"' ||
          !absl::CUnescape(line.substr(1, line.size() - 2), &key)) {
        return BadLine(number);
      }
    }
    keys.push_back(std::move(key));
  }
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

}  // namespace gandem
