// SPDX-License-Identifier: Apache-2.0
#include "common/config/explain.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/check.h"
#include "common/config/field_ranges.h"
#include "common/files/field_names.h"
#include "common/files/nearest.h"
#include "proto/config.pb.h"

namespace gandem {

namespace internal {
// Descriptor set with comments, from build/proto/gandem.descriptors.
extern const std::span<const unsigned char> kDescriptorSet;
}  // namespace internal

namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

// Returns a RunConfig descriptor with comments, which generated code lacks.
const Descriptor& CommentedRunConfig() {
  static const Descriptor* const type = [] {
    google::protobuf::FileDescriptorSet files;
    GANDEM_CHECK(files.ParseFromArray(
        internal::kDescriptorSet.data(),
        static_cast<int>(internal::kDescriptorSet.size())));
    auto* const pool = new google::protobuf::DescriptorPool;  // never destroyed
    for (const auto& file : files.file()) {
      GANDEM_CHECK(pool->BuildFile(file) != nullptr);
    }
    const Descriptor* const found =
        pool->FindMessageTypeByName(RunConfig::descriptor()->full_name());
    GANDEM_CHECK(found != nullptr);
    return found;
  }();
  return *type;
}

// Returns the comment above a declaration, with `indent` before each line.
template <typename Declaration>
std::string CommentOf(const Declaration& declaration,
                      absl::string_view indent) {
  google::protobuf::SourceLocation location;
  if (!declaration.GetSourceLocation(&location)) return "";
  std::string text;
  for (const absl::string_view line : absl::StrSplit(
           absl::StripAsciiWhitespace(location.leading_comments), '\n')) {
    if (!line.empty()) {
      absl::StrAppend(&text, indent, absl::StripAsciiWhitespace(line), "\n");
    }
  }
  return text;
}

std::vector<std::string> ValueNames(const EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) {
    names.push_back(type.value(i)->name());
  }
  return names;
}

std::string TypeOf(const FieldDescriptor& field) {
  std::string type = field.type_name();
  if (field.message_type() != nullptr) type = field.message_type()->name();
  if (field.enum_type() != nullptr) {
    type = absl::StrCat("one of ",
                        absl::StrJoin(ValueNames(*field.enum_type()), ", "));
  }
  if (field.options().HasExtension(most_values)) {
    type = absl::StrCat("at most ", field.options().GetExtension(most_values),
                        " ", type);
  }
  if (field.is_repeated()) type = absl::StrCat("list of ", type);
  const std::optional<FieldRange> range = RangeOf(field);
  return range.has_value() ? absl::StrCat(type, " in ", range->text) : type;
}

// Returns "" if the field has no default.
std::string DefaultOf(const FieldDescriptor& field) {
  if (!field.has_default_value()) return "";
  const google::protobuf::Message& message =
      *google::protobuf::MessageFactory::generated_factory()->GetPrototype(
          google::protobuf::DescriptorPool::generated_pool()
              ->FindMessageTypeByName(field.containing_type()->full_name()));
  std::string text;
  google::protobuf::TextFormat::PrintFieldValueToString(
      message, message.GetDescriptor()->FindFieldByNumber(field.number()),
      /*index=*/-1, &text);
  return text;
}

std::string Values(const EnumDescriptor& type) {
  std::string text = CommentOf(type, "  ");
  for (int i = 0; i < type.value_count(); ++i) {
    absl::StrAppend(&text, "  ", type.value(i)->name(), "\n",
                    CommentOf(*type.value(i), "    "));
  }
  return text;
}

std::string Fields(const std::string& path, const Descriptor& type) {
  std::string text = CommentOf(type, "  ");
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const std::string default_value = DefaultOf(field);
    absl::StrAppend(&text, "  ", path, ".", field.name(),
                    default_value.empty() ? "" : " = ", default_value, "\n");
  }
  return text;
}

// Returns "schedule.lag (int64 in [0, 64]; default 1)". `changes`: the field or
// an enclosing message may change when a run is resumed.
std::string Heading(const std::string& path, const FieldDescriptor& field,
                    bool changes) {
  const std::string default_value = DefaultOf(field);
  return absl::StrCat(
      path, " (", TypeOf(field),
      default_value.empty() ? "" : absl::StrCat("; default ", default_value),
      changes ? "; may change when a run is resumed" : "", ")\n");
}

// Returns the first sentence of the comment on the field, or else on its type.
std::string Summary(const FieldDescriptor& field) {
  std::string text = CommentOf(field, "");
  if (text.empty() && field.message_type() != nullptr) {
    text = CommentOf(*field.message_type(), "");
  }
  if (text.empty() && field.enum_type() != nullptr) {
    text = CommentOf(*field.enum_type(), "");
  }
  std::ranges::replace(text, '\n', ' ');
  size_t end = text.find(". ");
  while (absl::EndsWith(absl::string_view(text).substr(0, end), " et al")) {
    end = text.find(". ", end + 1);
  }
  return text.substr(0, end);
}

// Appends every field below `type`. A message type that occurs again refers to
// its first path in `first_paths`.
void AppendReference(const Descriptor& type, const std::string& prefix,
                     bool changes,
                     std::map<const Descriptor*, std::string>& first_paths,
                     std::string& text) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const std::string path = prefix + field.name();
    const bool field_changes =
        changes || field.options().GetExtension(may_change);
    absl::StrAppend(&text, Heading(path, field, field_changes), "    ",
                    Summary(field), ".\n");
    if (field.message_type() == nullptr) continue;
    const auto [first, is_new] =
        first_paths.try_emplace(field.message_type(), path);
    if (is_new) {
      AppendReference(*field.message_type(), path + ".", field_changes,
                      first_paths, text);
    } else if (field.message_type()->field_count() > 0) {
      absl::StrAppend(&text, "    Has the fields of ", first->second, ".\n");
    }
  }
}

std::string Explain(const std::string& path) {
  const Descriptor* type = &CommentedRunConfig();
  const FieldDescriptor* field = nullptr;
  bool changes = false;
  for (const absl::string_view name : absl::StrSplit(path, '.')) {
    field = type->FindFieldByName(std::string(name));
    type = field->message_type();
    changes |= field->options().GetExtension(may_change);
  }
  std::string text =
      absl::StrCat(Heading(path, *field, changes), CommentOf(*field, "  "));
  if (type != nullptr) absl::StrAppend(&text, Fields(path, *type));
  if (field->enum_type() != nullptr) {
    absl::StrAppend(&text, Values(*field->enum_type()));
  }
  return text;
}

// Suggests names from all fields for a plain name. For a longer path, lists the
// fields of the deepest message that exists.
absl::Status NotFound(absl::string_view path) {
  if (!absl::StrContains(path, '.')) {
    std::set<std::string> names;
    for (const std::string& field : AllFields()) {
      names.insert(field.substr(field.rfind('.') + 1));
    }
    const std::string guess =
        DidYouMean(path, std::vector<std::string>(names.begin(), names.end()));
    if (!guess.empty()) {
      return absl::NotFoundError(
          absl::StrCat("no field '", path, "'; ", guess));
    }
  }
  const Descriptor* type = RunConfig::descriptor();
  for (const absl::string_view name : absl::StrSplit(path, '.')) {
    const FieldDescriptor* const field =
        type->FindFieldByName(std::string(name));
    if (field == nullptr) {
      return absl::NotFoundError(
          absl::StrCat("no field '", path, "': ", type->name(), " has no '",
                       name, "' (", SuggestField(name, *type), ")"));
    }
    if (field->message_type() == nullptr) break;
    type = field->message_type();
  }
  return absl::NotFoundError(
      absl::StrCat("no field '", path, "': it goes on after a plain value"));
}

}  // namespace

std::vector<std::string> AllFields() {
  return FieldPaths(*RunConfig::descriptor());
}

std::string ExplainAllFields() {
  std::map<const Descriptor*, std::string> first_paths;
  std::string text;
  AppendReference(CommentedRunConfig(), "", /*changes=*/false, first_paths,
                  text);
  return text;
}

absl::StatusOr<std::string> ExplainField(absl::string_view path) {
  const std::vector<std::string> fields = AllFields();
  if (std::ranges::find(fields, path) != fields.end()) {
    return Explain(std::string(path));
  }
  std::vector<std::string> texts;
  for (const std::string& field : fields) {
    if (absl::EndsWith(field, absl::StrCat(".", path))) {
      texts.push_back(Explain(field));
    }
  }
  if (texts.empty()) return NotFound(path);
  return absl::StrJoin(texts, "\n");
}

}  // namespace gandem
