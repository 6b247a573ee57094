// SPDX-License-Identifier: Apache-2.0
#include "common/config/field_ranges.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/check.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

double ToNumber(absl::string_view text) {
  double number = 0;
  GANDEM_CHECK(absl::SimpleAtod(text, &number));
  return number;
}

// Parses "{-1, 0} or [1, 86400]", or only an interval.
FieldRange ParseRange(absl::string_view text) {
  FieldRange range = {.text = text};
  if (absl::ConsumePrefix(&text, "{")) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(text, "} or ");
    for (const absl::string_view value : absl::StrSplit(parts.first, ", ")) {
      range.more.push_back(ToNumber(value));
    }
    text = parts.second;
  }
  range.has_low = absl::ConsumePrefix(&text, "[");
  range.has_high = absl::ConsumeSuffix(&text, "]");
  GANDEM_CHECK(range.has_low || absl::ConsumePrefix(&text, "("));
  GANDEM_CHECK(range.has_high || absl::ConsumeSuffix(&text, ")"));
  const std::pair<absl::string_view, absl::string_view> ends =
      absl::StrSplit(text, ", ");
  range.low = ToNumber(ends.first);
  range.high = ToNumber(ends.second);
  return range;
}

// Checks a field; `index` is the element if the field is a list.
bool CheckValue(const std::string& path, const Message& message,
                const FieldDescriptor& field, int index, Faults& faults) {
  if (field.message_type() != nullptr) {
    const Reflection& reflection = *message.GetReflection();
    return CheckRanges(
        path + ".",
        field.is_repeated()
            ? reflection.GetRepeatedMessage(message, &field, index)
            : reflection.GetMessage(message, &field),
        faults);
  }
  const std::optional<FieldRange> range = RangeOf(field);
  if (!range.has_value()) return true;
  std::string text;
  google::protobuf::TextFormat::PrintFieldValueToString(message, &field, index,
                                                        &text);
  const bool fits = range->Has(ToNumber(text));
  if (!fits) {
    faults.Add(absl::StrCat(path, " ", text, " is not in ", range->text));
  }
  return fits;
}

bool CheckList(const std::string& path, const Message& message,
               const FieldDescriptor& field, Faults& faults) {
  const int size = message.GetReflection()->FieldSize(message, &field);
  const auto& options = field.options();
  bool legal = !options.HasExtension(most_values) ||
               size <= options.GetExtension(most_values);
  if (!legal) {
    faults.Add(absl::StrCat(path, " has ", size, " values, the most are ",
                            options.GetExtension(most_values)));
  }
  for (int i = 0; i < size; ++i) {
    legal &=
        CheckValue(absl::StrCat(path, "[", i, "]"), message, field, i, faults);
  }
  return legal;
}

}  // namespace

bool FieldRange::Has(double value) const {
  const bool is_inside = (has_low ? value >= low : value > low) &&
                         (has_high ? value <= high : value < high);
  return is_inside || std::ranges::find(more, value) != more.end();
}

std::optional<FieldRange> RangeOf(const FieldDescriptor& field) {
  if (!field.options().HasExtension(within)) return std::nullopt;
  return ParseRange(field.options().GetExtension(within));
}

FieldRange RangeOf(const Descriptor& type, const std::string& name) {
  const FieldDescriptor* const field = type.FindFieldByName(name);
  GANDEM_CHECK(field != nullptr);
  return RangeOf(*field).value();
}

bool CheckRanges(const std::string& prefix, const Message& message,
                 Faults& faults) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  bool legal = true;
  for (const FieldDescriptor* const field : fields) {
    const std::string path = prefix + field->name();
    legal &= field->is_repeated()
                 ? CheckList(path, message, *field, faults)
                 : CheckValue(path, message, *field, /*index=*/-1, faults);
  }
  return legal;
}

bool IsWithinRanges(const Message& message) {
  Faults ignored("");
  return CheckRanges("", message, ignored);
}

}  // namespace gandem
