// SPDX-License-Identifier: Apache-2.0
#include "common/files/text_proto.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/files/field_names.h"
#include "common/files/utf8.h"
#include "common/status.h"

namespace gandem {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

struct Fault {
  size_t offset = 0;
  std::string message;
};

// Returns "line:column", both from 1; columns count bytes.
std::string PlaceAt(absl::string_view text, size_t offset) {
  const absl::string_view before = text.substr(0, offset);
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 == 0
  return absl::StrCat(std::ranges::count(before, '\n') + 1, ":",
                      before.size() - line_start + 1);
}

std::string Located(absl::string_view file, absl::string_view text,
                    const Fault& fault) {
  return absl::StrCat(file, ":", PlaceAt(text, fault.offset), ": ",
                      fault.message);
}

// Converts protobuf's position: from 0, tabs advance to multiples of 8.
size_t OffsetOf(absl::string_view text, int line, int column) {
  size_t offset = 0;
  for (; line > 0; --line) offset = text.find('\n', offset) + 1;
  for (int at = 0; at < column && offset < text.size(); ++offset) {
    at = text[offset] == '\t' ? (at / 8 + 1) * 8 : at + 1;
  }
  return offset;
}

class Collector : public google::protobuf::io::ErrorCollector {
 public:
  explicit Collector(absl::string_view text) : text_(text) {}
  void AddError(int line, int column, const std::string& message) override {
    faults_.push_back({OffsetOf(text_, std::max(0, line), column), message});
  }
  const std::vector<Fault>& faults() const { return faults_; }

 private:
  const absl::string_view text_;
  std::vector<Fault> faults_;
};

// Returns the field whose value begins at `offset` ("loss" for "loss: "), or
// "".
absl::string_view FieldBefore(absl::string_view text, size_t offset) {
  absl::string_view before =
      absl::StripTrailingAsciiWhitespace(text.substr(0, offset));
  if (!absl::ConsumeSuffix(&before, ":")) return "";
  before = absl::StripTrailingAsciiWhitespace(before);
  const auto is_part = [](char c) {
    return absl::ascii_isalnum(c) || c == '_';
  };
  const auto start = std::find_if_not(before.rbegin(), before.rend(), is_part);
  return before.substr(static_cast<size_t>(before.rend() - start));
}

// Explains a value that stopped the parser: a negative number for an unsigned
// field, or wrong quotes. Returns the parser's own message for other faults.
std::string ExplainValue(absl::string_view text, const Descriptor& root,
                         const Fault& fault) {
  constexpr absl::string_view kGot = ", got: ";
  const absl::string_view said = fault.message;
  const size_t end = said.rfind(kGot);
  const absl::string_view field = FieldBefore(text, fault.offset);
  if (!absl::StartsWith(said, "Expected integer") || end == said.npos ||
      field.empty()) {
    return fault.message;
  }
  const absl::string_view got = said.substr(end + kGot.size());
  if (got == "-") {
    const absl::string_view rest = text.substr(fault.offset + 1);
    const auto* const last =
        std::ranges::find_if_not(rest, absl::ascii_isdigit);
    return absl::StrCat(
        field, " has no value '-",
        rest.substr(0, static_cast<size_t>(last - rest.begin())),
        "' (it is a whole number from 0 on)");
  }
  if (got.size() < 2 || (got.front() != '"' && got.front() != '\'')) {
    return fault.message;
  }
  if (!absl::StartsWith(said, "Expected integer or identifier")) {
    return absl::StrCat(field, " is a whole number without quotes, not ", got);
  }
  const absl::string_view name = got.substr(1, got.size() - 2);
  return absl::StrCat(field, " has no value ", got, " (",
                      SuggestEnumValue(field, name, root), ", without quotes)");
}

// Finds the last `word` before `end`, skipping comments.
size_t LastWord(absl::string_view text, size_t end, absl::string_view word) {
  absl::string_view before = text.substr(0, end);
  size_t comment = 0;
  while (comment != before.npos) {
    before = absl::StripTrailingAsciiWhitespace(before);
    comment = before.find('#', before.rfind('\n') + 1);
    before = before.substr(0, comment);
  }
  return absl::EndsWith(before, word) ? before.size() - word.size()
                                      : text.substr(0, end).rfind(word);
}

// The parser reports the position after a wrong name or enum value. Moves
// `fault` to the name or value and adds a suggestion.
void Explain(absl::string_view text, const Descriptor& root, Fault& fault) {
  const std::string said = fault.message;
  const std::vector<std::string> parts = absl::StrSplit(said, '"');
  const auto move_before = [&](const std::string& name) {
    const size_t found = LastWord(text, fault.offset, name);
    if (found != absl::string_view::npos) fault.offset = found;
  };
  if (absl::StartsWith(said, "Message type ") && parts.size() == 5) {
    move_before(parts[3]);
    const Descriptor* const type =
        root.file()->pool()->FindMessageTypeByName(parts[1]);
    if (type != nullptr) fault.message = NoSuchField(parts[3], *type, root);
  } else if (absl::StartsWith(said, "Unknown enumeration value ") &&
             parts.size() == 5) {
    move_before(parts[1]);
    fault.message =
        absl::StrCat(parts[3], " has no value '", parts[1], "' (",
                     SuggestEnumValue(parts[3], parts[1], root), ")");
  } else if (absl::StrContains(said, " is specified ") && parts.size() > 2) {
    move_before(parts[1]);  // given twice, or two members of a oneof
  } else {
    fault.message = ExplainValue(text, root, fault);
  }
}

// Word processors and web pages write these instead of " and '.
constexpr absl::string_view kTypographicQuotes[] = {
    "\u201c", "\u201d", "\u201e", "\u2018", "\u2019",
    "\u201a", "\u00ab", "\u00bb", "\u2033", "\u2032"};

// Finds a typographic quote among the faults: the parser reports one fault for
// each of its bytes.
std::optional<Fault> FindTypographicQuote(absl::string_view text,
                                          const std::vector<Fault>& faults) {
  for (const Fault& fault : faults) {
    for (const absl::string_view quote : kTypographicQuotes) {
      if (!absl::StartsWith(text.substr(fault.offset), quote)) continue;
      return Fault{fault.offset, absl::StrCat("a typographic quote (", quote,
                                              "): write \" or ' instead")};
    }
  }
  return std::nullopt;
}

absl::Status Parse(const std::string& text, absl::string_view file,
                   const Descriptor& root, Message& message) {
  Collector collector(text);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  parser.SetRecursionLimit(64);
  if (parser.ParseFromString(text, &message)) return absl::OkStatus();
  std::vector<Fault> faults = collector.faults();
  for (Fault& fault : faults) Explain(text, root, fault);
  if (const auto quote = FindTypographicQuote(text, faults)) faults = {*quote};
  return absl::InvalidArgumentError(
      absl::StrJoin(faults, "\n", [&](std::string* lines, const Fault& fault) {
        absl::StrAppend(
            lines, file.empty() ? fault.message : Located(file, text, fault));
      }));
}

// Returns the path of the first string that is not UTF-8. Escapes such as
// "\xff" can produce invalid UTF-8 from valid text.
std::optional<std::string> FindBadString(const Message& message,
                                         const std::string& prefix) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string path = prefix + field->name();
    const bool many = field->is_repeated();
    const int size = many ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < size; ++i) {
      if (field->type() == FieldDescriptor::TYPE_STRING) {
        const std::string text =
            many ? reflection.GetRepeatedString(message, field, i)
                 : reflection.GetString(message, field);
        if (!IsValidUtf8(text)) return path;
      } else if (field->message_type() != nullptr) {
        auto found = FindBadString(
            many ? reflection.GetRepeatedMessage(message, field, i)
                 : reflection.GetMessage(message, field),
            path + ".");
        if (found.has_value()) return found;
      }
    }
  }
  return std::nullopt;
}

absl::Status CheckBytes(absl::string_view text, absl::string_view file) {
  if (absl::StartsWith(text, "\xff\xfe") ||
      absl::StartsWith(text, "\xfe\xff")) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ":1:1: is UTF-16; save it as UTF-8"));
  }
  if (text.size() > kMaxTextProtoBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ":1:1: has ", text.size(), " bytes, the limit is ",
                     kMaxTextProtoBytes));
  }
  const size_t valid = ValidUtf8Prefix(text);
  if (valid == text.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      Located(file, text, {valid, "a byte that is not UTF-8"}));
}

struct Target {
  Message* message = nullptr;  // holds the field
  const FieldDescriptor* field = nullptr;
};

// Returns the last field of the path; creates missing messages on the way.
absl::StatusOr<Target> Walk(absl::string_view path, Message& root) {
  Target target = {.message = &root, .field = nullptr};
  for (const absl::string_view name : absl::StrSplit(path, '.')) {
    if (target.field != nullptr) {
      if (!target.field->message_type() || target.field->is_repeated()) {
        return absl::InvalidArgumentError(
            absl::StrCat("'", target.field->name(), "' has no fields"));
      }
      target.message = target.message->GetReflection()->MutableMessage(
          target.message, target.field);
    }
    const Descriptor& type = *target.message->GetDescriptor();
    target.field = type.FindFieldByName(std::string(name));
    if (target.field == nullptr) {
      return absl::InvalidArgumentError(
          NoSuchField(name, type, *root.GetDescriptor()));
    }
  }
  return target;
}

std::string QuoteIfNeeded(absl::string_view value,
                          const FieldDescriptor& field) {
  const bool is_string = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  const bool plain =
      value.empty() || (value.front() != '"' && value.front() != '\'' &&
                        !(field.is_repeated() && value.front() == '['));
  if (!is_string || !plain) return std::string(value);
  return absl::StrCat("\"", absl::CEscape(value), "\"");
}

}  // namespace

std::string PlaceIn(absl::string_view text, int line, int column) {
  return PlaceAt(text, OffsetOf(text, line, column));
}

absl::string_view WithoutByteOrderMark(absl::string_view text) {
  return absl::StripPrefix(text, "\xef\xbb\xbf");
}

absl::Status ParseTextProto(absl::string_view text, absl::string_view file,
                            Message& message) {
  GANDEM_RETURN_IF_ERROR(CheckBytes(text, file));
  GANDEM_RETURN_IF_ERROR(Parse(std::string(WithoutByteOrderMark(text)), file,
                               *message.GetDescriptor(), message));
  const std::optional<std::string> bad = FindBadString(message, "");
  if (!bad.has_value()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(file, ":1:1: ", *bad, " is not UTF-8"));
}

absl::Status SetField(absl::string_view assignment, Message& message) {
  const auto error = [assignment](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", assignment, "': ", what));
  };
  const size_t equals = assignment.find('=');
  if (equals == assignment.npos) return error("it is not path.to.field=value");
  const auto path = absl::StripAsciiWhitespace(assignment.substr(0, equals));
  const auto value = absl::StripAsciiWhitespace(assignment.substr(equals + 1));

  // Works on a copy so that an error leaves `message` unchanged.
  const std::unique_ptr<Message> changed(message.New());
  changed->CopyFrom(message);
  const auto target = Walk(path, *changed);
  if (!target.ok()) return error(target.status().message());
  const FieldDescriptor& field = *target->field;
  const std::string meant = SuggestNumber(value, field);
  if (!meant.empty()) return error(meant);

  const std::unique_ptr<Message> holder(target->message->New());
  const absl::Status parsed =
      Parse(absl::StrCat(field.name(), ": ", QuoteIfNeeded(value, field)),
            /*file=*/"", *message.GetDescriptor(), *holder);
  if (!parsed.ok()) return error(parsed.message());
  if (FindBadString(*holder, "").has_value()) return error("it is not UTF-8");
  std::vector<const FieldDescriptor*> set;
  holder->GetReflection()->ListFields(*holder, &set);
  if (set.size() > 1 || (set.size() == 1 && set[0] != &field)) {
    return error("it sets more than one field");
  }
  target->message->GetReflection()->ClearField(target->message, &field);
  target->message->MergeFrom(*holder);
  message.CopyFrom(*changed);
  return absl::OkStatus();
}

absl::Status SetFields(std::span<const std::string> assignments,
                       Message& message) {
  for (const std::string& assignment : assignments) {
    const absl::Status status = SetField(assignment, message);
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--set ", status.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace gandem
