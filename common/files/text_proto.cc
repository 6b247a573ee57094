// SPDX-License-Identifier: Apache-2.0
#include "common/files/text_proto.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/files/nearest.h"
#include "common/files/utf8.h"

namespace gandem {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string Suggest(absl::string_view name,
                    const std::vector<std::string>& candidates,
                    absl::string_view what) {
  const std::optional<std::string> nearest = Nearest(name, candidates);
  std::string text;
  if (nearest.has_value()) {
    text = absl::StrCat("did you mean '", *nearest, "'?");
  }
  if (!nearest.has_value() || what == "values") {
    absl::StrAppend(&text, nearest.has_value() ? " " : "", what, ": ",
                    absl::StrJoin(candidates, ", "));
  }
  return text;
}

std::vector<std::string> FieldNames(const Descriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) {
    names.push_back(type.field(i)->name());
  }
  return names;
}

std::string SuggestValue(absl::string_view name, const EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) {
    names.push_back(type.value(i)->name());
  }
  return Suggest(name, names, "values");
}

void CollectPaths(const Descriptor& type, const std::string& prefix,
                  std::set<const Descriptor*>& inside,
                  std::vector<std::string>& paths) {
  if (!inside.insert(&type).second) return;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    paths.push_back(prefix + field.name());
    if (field.message_type() != nullptr) {
      CollectPaths(*field.message_type(), paths.back() + ".", inside, paths);
    }
  }
  inside.erase(&type);
}

// Where below `root` the field would be right: "; there is a.x and b.x".
std::string FoundElsewhere(absl::string_view name, const Descriptor& root) {
  std::vector<std::string> found;
  for (std::string& path : FieldPaths(root)) {
    if (absl::EndsWith(path, absl::StrCat(".", name))) {
      found.push_back(std::move(path));
    }
  }
  if (found.empty() || found.size() > 3) return "";
  return absl::StrCat("; there is ", absl::StrJoin(found, " and "));
}

std::string NoSuchField(absl::string_view name, const Descriptor& type,
                        const Descriptor& root) {
  return absl::StrCat(type.name(), " has no field '", name, "' (",
                      SuggestField(name, type), FoundElsewhere(name, root),
                      ")");
}

// What the enums of all fields of this name below `root` have: messages name a
// field without its type. Empty: there is no such field.
std::string SuggestEnumValue(absl::string_view field_name,
                             absl::string_view value, const Descriptor& root) {
  std::vector<const FieldDescriptor*> found;  // of different enums
  for (const std::string& path : FieldPaths(root)) {
    const FieldDescriptor* field = nullptr;
    const Descriptor* type = &root;
    for (const absl::string_view part : absl::StrSplit(path, '.')) {
      field = type->FindFieldByName(std::string(part));
      type = field->message_type();
    }
    if (field->name() != field_name || field->enum_type() == nullptr) continue;
    const bool known = std::any_of(
        found.begin(), found.end(), [&](const FieldDescriptor* other) {
          return other->enum_type() == field->enum_type();
        });
    if (!known) found.push_back(field);
  }
  std::vector<std::string> suggestions;
  for (const FieldDescriptor* field : found) {
    suggestions.push_back(absl::StrCat(
        found.size() == 1
            ? ""
            : absl::StrCat("in ", field->containing_type()->name(), " "),
        SuggestValue(value, *field->enum_type())));
  }
  return absl::StrJoin(suggestions, "; ");
}

// The text between `before` and `after`, or none.
std::optional<absl::string_view> Between(absl::string_view text,
                                         absl::string_view before,
                                         absl::string_view after) {
  if (!absl::ConsumePrefix(&text, before)) return std::nullopt;
  const size_t end = text.find(after);
  if (end == absl::string_view::npos) return std::nullopt;
  return text.substr(0, end);
}

struct Improved {
  std::string message;
  // What the message is about. It ends before the place that protobuf names.
  std::string token = {};
};

// Adds what would be right to protobuf's messages. If protobuf words them
// differently one day, they stay as they are (and a test says so).
Improved Improve(const std::string& message, const Descriptor& root) {
  const auto type_name = Between(message, "Message type \"", "\"");
  if (type_name.has_value()) {
    const Descriptor* const type =
        root.file()->pool()->FindMessageTypeByName(std::string(*type_name));
    const auto field = Between(
        message,
        absl::StrCat("Message type \"", *type_name, "\" has no field named \""),
        "\"");
    if (type != nullptr && field.has_value()) {
      return {NoSuchField(*field, *type, root), std::string(*field)};
    }
  }
  const auto value = Between(message, "Unknown enumeration value of \"", "\"");
  if (value.has_value()) {
    const auto name = Between(message,
                              absl::StrCat("Unknown enumeration value of \"",
                                           *value, "\" for field \""),
                              "\"");
    const std::string suggestion =
        name.has_value() ? SuggestEnumValue(*name, *value, root) : "";
    if (!suggestion.empty()) {
      return {absl::StrCat(*name, " has no value '", *value, "' (", suggestion,
                           ")"),
              std::string(*value)};
    }
  }
  for (const absl::string_view start : {"Non-repeated field \"", "Field \""}) {
    const auto field = Between(message, start, "\"");
    if (field.has_value()) return {message, std::string(*field)};
  }
  return {message};
}

// A place in a text, both from 1; columns count bytes.
struct Place {
  size_t line = 1;
  size_t column = 1;
};

Place PlaceOf(absl::string_view text, size_t offset) {
  const absl::string_view before = text.substr(0, offset);
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 == 0
  return {static_cast<size_t>(std::ranges::count(before, '\n')) + 1,
          before.size() - line_start + 1};
}

// protobuf counts from 0, and a tab to the next multiple of 8.
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
  // `file` empty: only the messages.
  Collector(absl::string_view text, absl::string_view file,
            const Descriptor& root)
      : text_(text), file_(file), root_(root) {}

  void AddError(int line, int column, const std::string& message) override {
    const Improved improved = Improve(message, root_);
    if (file_.empty()) {
      errors_.push_back(improved.message);
      return;
    }
    size_t offset = OffsetOf(text_, std::max(0, line), column);
    if (!improved.token.empty()) {
      const size_t token = text_.substr(0, offset).rfind(improved.token);
      if (token != absl::string_view::npos) offset = token;
    }
    const Place place = PlaceOf(text_, offset);
    errors_.push_back(absl::StrCat(file_, ":", place.line, ":", place.column,
                                   ": ", improved.message));
  }
  const std::vector<std::string>& errors() const { return errors_; }

 private:
  const absl::string_view text_;
  const absl::string_view file_;
  const Descriptor& root_;
  std::vector<std::string> errors_;
};

absl::Status Parse(const std::string& text, absl::string_view file,
                   const Descriptor& root, Message& message) {
  Collector collector(text, file, root);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  parser.SetRecursionLimit(64);
  if (parser.ParseFromString(text, &message)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(collector.errors(), "\n"));
}

// Escapes such as "\xff" can smuggle in what the text itself does not hold.
// Returns the path of the first string that is not UTF-8.
std::optional<std::string> FindBadString(const Message& message,
                                         const std::string& prefix) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string path = prefix + field->name();
    const int size =
        field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < size; ++i) {
      if (field->type() == FieldDescriptor::TYPE_STRING) {
        const std::string text =
            field->is_repeated()
                ? reflection.GetRepeatedString(message, field, i)
                : reflection.GetString(message, field);
        if (!IsValidUtf8(text)) return path;
      } else if (field->message_type() != nullptr) {
        const Message& inner =
            field->is_repeated()
                ? reflection.GetRepeatedMessage(message, field, i)
                : reflection.GetMessage(message, field);
        auto found = FindBadString(inner, path + ".");
        if (found.has_value()) return found;
      }
    }
  }
  return std::nullopt;
}

absl::Status CheckBytes(absl::string_view text, absl::string_view file) {
  if (text.size() > kMaxTextProtoBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ":1:1: has ", text.size(), " bytes, the limit is ",
                     kMaxTextProtoBytes));
  }
  const size_t valid = ValidUtf8Prefix(text);
  if (valid == text.size()) return absl::OkStatus();
  const Place place = PlaceOf(text, valid);
  return absl::InvalidArgumentError(absl::StrCat(
      file, ":", place.line, ":", place.column, ": a byte that is not UTF-8"));
}

struct Target {
  Message* message = nullptr;  // holds the field
  const FieldDescriptor* field = nullptr;
};

// Walks to the last field of the path, making messages on its way.
absl::StatusOr<Target> Walk(absl::string_view path, Message& root) {
  Target target = {.message = &root, .field = nullptr};
  for (const absl::string_view name : absl::StrSplit(path, '.')) {
    if (target.field != nullptr) {
      if (target.field->message_type() == nullptr ||
          target.field->is_repeated()) {
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

absl::Status ParseTextProto(absl::string_view text, absl::string_view file,
                            Message& message) {
  absl::Status status = CheckBytes(text, file);
  if (status.ok()) {
    status = Parse(std::string(text), file, *message.GetDescriptor(), message);
  }
  if (!status.ok()) return status;
  const std::optional<std::string> bad = FindBadString(message, "");
  if (bad.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ":1:1: ", *bad, " is not UTF-8"));
  }
  return absl::OkStatus();
}

absl::Status SetField(absl::string_view assignment, Message& message) {
  const auto error = [assignment](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", assignment, "': ", what));
  };
  const size_t equals = assignment.find('=');
  if (equals == absl::string_view::npos) {
    return error("it is not path.to.field=value");
  }
  const absl::string_view path(
      absl::StripAsciiWhitespace(assignment.substr(0, equals)));
  const absl::string_view value =
      absl::StripAsciiWhitespace(assignment.substr(equals + 1));

  // All or nothing: the changes go to a copy first.
  const std::unique_ptr<Message> changed(message.New());
  changed->CopyFrom(message);
  const auto target = Walk(path, *changed);
  if (!target.ok()) return error(target.status().message());
  const FieldDescriptor& field = *target->field;

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

std::vector<std::string> FieldPaths(const Descriptor& type) {
  std::vector<std::string> paths;
  std::set<const Descriptor*> inside;
  CollectPaths(type, "", inside, paths);
  return paths;
}

std::string SuggestField(absl::string_view name, const Descriptor& type) {
  return Suggest(name, FieldNames(type), "fields");
}

}  // namespace gandem
