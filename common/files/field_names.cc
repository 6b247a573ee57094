// SPDX-License-Identifier: Apache-2.0
#include "common/files/field_names.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/files/nearest.h"
#include "common/files/quantities.h"

namespace gandem {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

std::string Suggest(absl::string_view name,
                    const std::vector<std::string>& candidates,
                    absl::string_view what) {
  const std::string guess = DidYouMean(name, candidates);
  if (!guess.empty() && what == "fields") return guess;
  return absl::StrCat(guess, guess.empty() ? "" : " ", what, ": ",
                      absl::StrJoin(candidates, ", "));
}

std::string SuggestValue(absl::string_view name, const EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) {
    names.push_back(type.value(i)->name());
  }
  return Suggest(name, names, "values");
}

using PathAndField = std::pair<std::string, const FieldDescriptor*>;

void CollectPaths(const Descriptor& type, const std::string& prefix,
                  std::set<const Descriptor*>& inside,
                  std::vector<PathAndField>& paths) {
  if (!inside.insert(&type).second) return;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const std::string path = prefix + field.name();
    paths.push_back({path, &field});
    if (field.message_type() != nullptr) {
      CollectPaths(*field.message_type(), path + ".", inside, paths);
    }
  }
  inside.erase(&type);
}

std::vector<PathAndField> AllPaths(const Descriptor& type) {
  std::vector<PathAndField> paths;
  std::set<const Descriptor*> inside;
  CollectPaths(type, "", inside, paths);
  return paths;
}

// Lists other fields of this name below `root`: "; there is a.x and b.x".
std::string FoundElsewhere(absl::string_view name, const Descriptor& root) {
  std::vector<std::string> found;
  for (const auto& [path, field] : AllPaths(root)) {
    if (field->name() == name && path != name) found.push_back(path);
  }
  if (found.empty() || found.size() > 3) return "";
  return absl::StrCat("; there is ", absl::StrJoin(found, " and "));
}

// Parses "64MB" for byte fields, where a bare M means Mi, and "10k" for counts.
std::optional<int64_t> WithoutUnit(absl::string_view value,
                                   const FieldDescriptor& field) {
  if (!absl::EndsWith(field.name(), "_bytes")) return ParseCount(value);
  for (const absl::string_view omitted : {"", "iB"}) {
    const auto bytes = ParseBytes(field.name(), absl::StrCat(value, omitted));
    if (bytes.ok()) return *bytes;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> FieldPaths(const Descriptor& type) {
  std::vector<std::string> paths;
  for (auto& [path, field] : AllPaths(type)) paths.push_back(std::move(path));
  return paths;
}

std::string SuggestField(absl::string_view name, const Descriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) {
    names.push_back(type.field(i)->name());
  }
  return Suggest(name, names, "fields");
}

std::string NoSuchField(absl::string_view name, const Descriptor& type,
                        const Descriptor& root) {
  return absl::StrCat(type.name(), " has no field '", name, "' (",
                      SuggestField(name, type), FoundElsewhere(name, root),
                      ")");
}

std::string SuggestEnumValue(absl::string_view field_name,
                             absl::string_view value, const Descriptor& root) {
  std::vector<const FieldDescriptor*> found;  // of different enums
  for (const auto& [path, field] : AllPaths(root)) {
    if (field->name() == field_name && field->enum_type() != nullptr &&
        std::ranges::count(found, field->enum_type(),
                           &FieldDescriptor::enum_type) == 0) {
      found.push_back(field);
    }
  }
  return absl::StrJoin(
      found, "; ", [&](std::string* text, const FieldDescriptor* field) {
        if (found.size() > 1) {
          absl::StrAppend(text, "in ", field->containing_type()->name(), " ");
        }
        absl::StrAppend(text, SuggestValue(value, *field->enum_type()));
      });
}

std::string SuggestNumber(absl::string_view value,
                          const FieldDescriptor& field) {
  const auto type = field.cpp_type();
  if (type != FieldDescriptor::CPPTYPE_INT64 &&
      type != FieldDescriptor::CPPTYPE_UINT64) {
    return "";
  }
  const std::optional<int64_t> number = WithoutUnit(value, field);
  if (!number.has_value()) return "";
  return absl::StrCat(field.name(), " is a whole number (did you mean ",
                      *number, "?)");
}

}  // namespace gandem
