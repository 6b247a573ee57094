// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/label_files.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/files/text_proto.h"
#include "common/status.h"
#include "pipeline/dataset.h"
#include "pipeline/formats/image_decoder.h"
#include "pipeline/formats/member_name.h"

namespace gandem {
namespace {

using Json = nlohmann::json;

// Field names of Hugging Face's imagefolder.
constexpr char kFileNameField[] = "file_name";
constexpr char kLabelField[] = "label";

Json ParseJson(absl::string_view text) {
  return Json::parse(text.begin(), text.end(), nullptr,
                     /*allow_exceptions=*/false);
}

absl::Status LineError(int64_t line, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", what));
}

std::optional<int64_t> LabelNumber(absl::string_view text) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < 0 || number > kMaxLabel) {
    return std::nullopt;
  }
  return number;
}

// Returns the text of a row's label; "": no label; nullopt: an invalid label.
std::optional<std::string> LabelText(const Json& row) {
  const auto label = row.find(kLabelField);
  if (label == row.end() || label->is_null()) return "";
  if (label->is_string()) return label->get<std::string>();
  if (!label->is_number_integer()) return std::nullopt;
  std::string text = label->dump();
  if (!LabelNumber(text).has_value()) return std::nullopt;
  return text;
}

std::string ExpectedLabel() {
  return absl::StrCat("expected a label that is a text or a whole number in ",
                      "[0, ", kMaxLabel, "]");
}

absl::Status AddLabel(absl::string_view name, absl::string_view text,
                      LabelTexts& labels) {
  if (text.empty()) return absl::OkStatus();
  const auto normal = NormalMemberName(name);
  const auto [at, added] =
      labels.emplace(normal.value_or(std::string(name)), text);
  if (added || at->second == text) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' has the labels ", at->second, " and ", text));
}

class CsvLines {
 public:
  explicit CsvLines(absl::string_view text)
      : left_(WithoutByteOrderMark(text)) {}

  // Returns the fields of the next nonempty line; empty at the end of the text.
  absl::StatusOr<std::vector<std::string>> Next() {
    while (!left_.empty()) {
      line_ = next_line_;
      std::vector<std::string> fields;
      do {
        GANDEM_ASSIGN_OR_RETURN(std::string field, TakeField());
        fields.push_back(std::move(field));
      } while (in_line_);
      if (fields.size() > 1 || !fields[0].empty()) return fields;
    }
    return std::vector<std::string>();
  }
  // Returns the first line of the last record, counted from 1.
  int64_t line() const { return line_; }

 private:
  // Strips spaces around unquoted fields.
  absl::StatusOr<std::string> TakeField() {
    std::string field;
    bool quoted = false;
    bool any_quote = false;
    in_line_ = false;
    while (!left_.empty()) {
      const char c = left_[0];
      left_.remove_prefix(1);
      if (c == '\n') ++next_line_;
      if (c == '"' && quoted && !left_.empty() && left_[0] == '"') {
        left_.remove_prefix(1);  // "" within quotes
        field.push_back('"');
      } else if (c == '"') {
        quoted = !quoted;
        any_quote = true;
      } else if (!quoted && (c == ',' || c == '\n')) {
        in_line_ = c == ',';
        break;
      } else if (quoted || c != '\r') {
        field.push_back(c);
      }
    }
    if (quoted) return absl::InvalidArgumentError("a quote is not closed");
    if (!any_quote) absl::StripAsciiWhitespace(&field);
    return field;
  }

  absl::string_view left_;
  int64_t line_ = 0;
  int64_t next_line_ = 1;
  bool in_line_ = false;  // a comma follows the last field
};

}  // namespace

absl::StatusOr<LabelTexts> ParseDatasetJson(absl::string_view text) {
  const Json json = ParseJson(WithoutByteOrderMark(text));
  if (!json.is_object()) {
    return absl::InvalidArgumentError(
        "it is no JSON object; expected {\"labels\": [[\"NAME\", NUMBER], "
        "...]}");
  }
  LabelTexts labels;
  const auto found = json.find("labels");
  if (found == json.end() || found->is_null()) return labels;
  if (!found->is_array()) {
    return absl::InvalidArgumentError("labels is neither a list nor null");
  }
  int64_t row = 0;
  for (const Json& pair : *found) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() ||
        !pair[1].is_number_integer() ||
        !LabelNumber(pair[1].dump()).has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("labels[", row, "]: expected [\"NAME\", NUMBER] with a ",
                       "whole number in [0, ", kMaxLabel, "]"));
    }
    GANDEM_RETURN_IF_ERROR(
        AddLabel(pair[0].get<std::string>(), pair[1].dump(), labels));
    ++row;
  }
  return labels;
}

absl::StatusOr<LabelTexts> ParseLabelsCsv(absl::string_view text) {
  CsvLines lines(text);
  LabelTexts labels;
  while (true) {
    const auto fields = lines.Next();
    if (fields.ok() && fields->empty()) return labels;
    if (!fields.ok() || fields->size() != 2) {
      return LineError(lines.line(), "expected NAME,LABEL");
    }
    const auto& [name, label] = std::pair(fields->front(), fields->back());
    if (lines.line() == 1 && !IsImageName(name)) continue;
    const absl::Status added =
        AddLabel(name, absl::StripAsciiWhitespace(label), labels);
    if (!added.ok()) return LineError(lines.line(), added.message());
  }
}

absl::StatusOr<LabelTexts> ParseMetadataCsv(absl::string_view text) {
  CsvLines lines(text);
  GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> heading, lines.Next());
  const auto column = [&heading](const std::string& name) {
    return static_cast<size_t>(std::ranges::find(heading, name) -
                               heading.begin());
  };
  const size_t name = column(kFileNameField);
  const size_t label = column(kLabelField);
  LabelTexts labels;
  if (label == heading.size()) return labels;
  if (name == heading.size()) {
    return LineError(1, "it has a column label, and no column file_name");
  }
  while (true) {
    const auto fields = lines.Next();
    if (fields.ok() && fields->empty()) return labels;
    if (!fields.ok() || fields->size() != heading.size()) {
      return LineError(lines.line(), absl::StrCat("expected ", heading.size(),
                                                  " fields, as in line 1"));
    }
    const absl::Status added =
        AddLabel((*fields)[name], (*fields)[label], labels);
    if (!added.ok()) return LineError(lines.line(), added.message());
  }
}

absl::StatusOr<LabelTexts> ParseMetadataJsonl(absl::string_view text) {
  LabelTexts labels;
  int64_t number = 0;
  text = WithoutByteOrderMark(text);
  while (!text.empty()) {
    const absl::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    const Json row = ParseJson(line);
    if (!row.is_object()) {
      return LineError(number, "expected a JSON object");
    }
    const auto label = LabelText(row);
    if (!label.has_value()) return LineError(number, ExpectedLabel());
    if (label->empty()) continue;
    const auto name = row.find(kFileNameField);
    if (name == row.end() || !name->is_string()) {
      return LineError(number, "it has a label, and no file_name");
    }
    const absl::Status added =
        AddLabel(name->get<std::string>(), *label, labels);
    if (!added.ok()) return LineError(number, added.message());
  }
  return labels;
}

absl::StatusOr<std::string> ParseSampleJson(absl::string_view text) {
  const Json json = ParseJson(WithoutByteOrderMark(text));
  if (!json.is_object()) return "";
  std::optional<std::string> label = LabelText(json);
  if (!label.has_value()) return absl::InvalidArgumentError(ExpectedLabel());
  return *std::move(label);
}

LabelNumbers::LabelNumbers(std::vector<std::string> texts, bool are_names) {
  const auto is_number = [](const std::string& text) {
    return LabelNumber(text).has_value();
  };
  if (!are_names && std::ranges::all_of(texts, is_number)) return;
  class_names_ = std::move(texts);
  std::ranges::sort(class_names_);
  class_names_.erase(std::unique(class_names_.begin(), class_names_.end()),
                     class_names_.end());
}

int64_t LabelNumbers::NumberOf(const std::string& text) const {
  if (class_names_.empty()) return *LabelNumber(text);
  return std::ranges::lower_bound(class_names_, text) - class_names_.begin();
}

}  // namespace gandem
