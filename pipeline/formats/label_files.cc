// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/label_files.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status.h"
#include "pipeline/dataset.h"
#include "pipeline/formats/image_decoder.h"

namespace gandem {
namespace {

using Json = nlohmann::json;

absl::Status BadRow(int64_t row) {
  return absl::InvalidArgumentError(absl::StrCat(
      "labels[", row, "]: expected [\"NAME\", NUMBER] with a whole number in ",
      "[0, ", kMaxLabel, "]"));
}

// The next field of a line; nullopt: a quote is not closed.
std::optional<std::string> TakeField(absl::string_view& line) {
  std::string field;
  bool quoted = false;
  while (!line.empty()) {
    const char c = line[0];
    line.remove_prefix(1);
    if (c == '"' && quoted && !line.empty() && line[0] == '"') {
      line.remove_prefix(1);  // "" within quotes
      field.push_back('"');
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      return field;
    } else {
      field.push_back(c);
    }
  }
  if (quoted) return std::nullopt;
  return field;
}

struct CsvLine {
  std::string name;
  std::string label;
};

absl::StatusOr<std::vector<CsvLine>> SplitCsv(absl::string_view text) {
  std::vector<CsvLine> lines;
  int64_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    const auto name = TakeField(line);
    const bool has_label = !line.empty();
    const auto label = TakeField(line);
    if (!name.has_value() || !label.has_value() || !has_label ||
        !line.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": expected NAME,LABEL"));
    }
    if (lines.empty() && number == 1 && !IsImageName(*name)) continue;
    lines.push_back({.name = *name,
                     .label = std::string(absl::StripAsciiWhitespace(*label))});
  }
  return lines;
}

std::optional<int64_t> LabelNumber(const std::string& text) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < 0 || number > kMaxLabel) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

absl::StatusOr<ImageLabels> ParseDatasetJson(absl::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr,
                                /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError(
        "it is no JSON object; expected {\"labels\": [[\"NAME\", NUMBER], "
        "...]}");
  }
  ImageLabels labels;
  const auto found = json.find("labels");
  if (found == json.end() || found->is_null()) return labels;
  if (!found->is_array()) {
    return absl::InvalidArgumentError("labels is neither a list nor null");
  }
  int64_t row = 0;
  for (const Json& pair : *found) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() ||
        !pair[1].is_number_integer()) {
      return BadRow(row);
    }
    const auto label = pair[1].get<int64_t>();
    if (label < 0 || label > kMaxLabel) return BadRow(row);
    labels.by_name[pair[0].get<std::string>()] = label;
    ++row;
  }
  return labels;
}

absl::StatusOr<ImageLabels> ParseLabelsCsv(absl::string_view text) {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<CsvLine> lines, SplitCsv(text));
  ImageLabels labels;
  const bool numbers = std::ranges::all_of(lines, [](const CsvLine& line) {
    return LabelNumber(line.label).has_value();
  });
  if (!numbers) {
    for (const CsvLine& line : lines) labels.class_names.push_back(line.label);
    std::ranges::sort(labels.class_names);
    labels.class_names.erase(
        std::unique(labels.class_names.begin(), labels.class_names.end()),
        labels.class_names.end());
  }
  for (const CsvLine& line : lines) {
    labels.by_name[line.name] =
        numbers ? *LabelNumber(line.label)
                : std::ranges::lower_bound(labels.class_names, line.label) -
                      labels.class_names.begin();
  }
  return labels;
}

}  // namespace gandem
