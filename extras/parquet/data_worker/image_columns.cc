// SPDX-License-Identifier: Apache-2.0
#include "extras/parquet/data_worker/image_columns.h"

#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/key_value_metadata.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace gandem {
namespace {

using Json = nlohmann::json;
using parquet::arrow::SchemaField;
using parquet::arrow::SchemaManifest;

// In order of preference.
constexpr const char* kImageNames[] = {"image", "img", "jpg",
                                       "jpeg",  "png", "webp"};
constexpr const char* kLabelNames[] = {"label", "labels", "fine_label", "class",
                                       "cls"};
constexpr size_t kListedColumns = 20;

bool IsBinary(const arrow::Field& field) {
  return field.type()->id() == arrow::Type::BINARY ||
         field.type()->id() == arrow::Type::LARGE_BINARY;
}

bool IsInteger(const SchemaField& column) {
  return column.is_leaf() && arrow::is_integer(column.field->type()->id());
}

bool IsText(const SchemaField& column) {
  const arrow::DataType* type = column.field->type().get();
  if (type->id() == arrow::Type::DICTIONARY) {
    type = static_cast<const arrow::DictionaryType&>(*type).value_type().get();
  }
  return column.is_leaf() && arrow::is_base_binary_like(type->id());
}

const SchemaField* ChildOf(const SchemaField& column, absl::string_view name) {
  if (column.field->type()->id() != arrow::Type::STRUCT) return nullptr;
  for (const SchemaField& child : column.children) {
    if (child.field->name() == name && child.is_leaf()) return &child;
  }
  return nullptr;
}

// The leaf with the encoded images, or null if this is not a column of images.
const SchemaField* BytesOf(const SchemaField& column) {
  const SchemaField* const leaf =
      column.is_leaf() ? &column : ChildOf(column, "bytes");
  return leaf != nullptr && IsBinary(*leaf->field) ? leaf : nullptr;
}

// "info.features" of the metadata that the hub's library writes, or an empty
// object.
Json FeaturesOf(const SchemaManifest& manifest) {
  if (manifest.schema_metadata == nullptr) return Json::object();
  const auto text = manifest.schema_metadata->Get("huggingface");
  if (!text.ok()) return Json::object();
  const Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("info")) return Json::object();
  const Json& info = json["info"];
  if (!info.is_object() || !info.contains("features")) return Json::object();
  return info["features"].is_object() ? info["features"] : Json::object();
}

bool IsFeature(const Json& features, const std::string& name,
               absl::string_view type) {
  if (!features.contains(name) || !features[name].is_object()) return false;
  const auto found = features[name].find("_type");
  return found != features[name].end() && found->is_string() &&
         found->get_ref<const std::string&>() == type;
}

std::vector<std::string> ClassNamesOf(const Json& features,
                                      const std::string& name) {
  std::vector<std::string> names;
  if (!IsFeature(features, name, "ClassLabel")) return names;
  const auto found = features[name].find("names");
  if (found == features[name].end() || !found->is_array()) return names;
  for (const Json& text : *found) {
    if (!text.is_string()) return {};
    names.push_back(text.get<std::string>());
  }
  return names;
}

// The first of `names` that is a column, otherwise the first column that
// `declared` accepts.
template <typename Names, typename Declared>
const SchemaField* FindColumn(const SchemaManifest& manifest,
                              const Names& names, Declared declared) {
  const auto& columns = manifest.schema_fields;
  for (const char* const name : names) {
    const auto found = std::ranges::find_if(
        columns, [&](const SchemaField& c) { return c.field->name() == name; });
    if (found != columns.end()) return &*found;
  }
  const auto found = std::ranges::find_if(
      columns, [&](const SchemaField& c) { return declared(c.field->name()); });
  return found == columns.end() ? nullptr : &*found;
}

std::string ColumnTexts(const SchemaManifest& manifest) {
  std::string text;
  size_t count = 0;
  for (const SchemaField& column : manifest.schema_fields) {
    if (++count > kListedColumns) return absl::StrCat(text, " ...");
    absl::StrAppend(&text, text.empty() ? "" : ", ", "'",
                    column.field->name().substr(0, 100), "' (",
                    column.field->type()->ToString().substr(0, 100), ")");
  }
  return text.empty() ? "none" : text;
}

absl::Status NoImageColumn(const SchemaManifest& manifest) {
  return absl::InvalidArgumentError(absl::StrCat(
      "no column holds encoded images: expected 'image' (or img, jpg, jpeg, "
      "png, webp) that is binary, or a struct with a binary 'bytes' as on the "
      "Hugging Face hub; it has the columns ",
      ColumnTexts(manifest)));
}

}  // namespace

absl::StatusOr<ImageColumns> FindImageColumns(const SchemaManifest& manifest) {
  const Json features = FeaturesOf(manifest);
  const SchemaField* const image =
      FindColumn(manifest, kImageNames, [&](const std::string& name) {
        return IsFeature(features, name, "Image");
      });
  const SchemaField* const bytes = image == nullptr ? nullptr : BytesOf(*image);
  if (bytes == nullptr) return NoImageColumn(manifest);
  ImageColumns columns = {.image = image->field->name(),
                          .image_leaf = bytes->column_index};
  const SchemaField* const path = ChildOf(*image, "path");
  if (path != nullptr && path->field->type()->id() == arrow::Type::STRING) {
    columns.path_leaf = path->column_index;
  }
  const SchemaField* const label =
      FindColumn(manifest, kLabelNames, [&](const std::string& name) {
        return IsFeature(features, name, "ClassLabel");
      });
  if (label == nullptr) return columns;
  columns.label = label->field->name();
  columns.label_is_text = IsText(*label);
  if (columns.label_is_text) {
    columns.label_leaf = label->column_index;
  } else if (IsInteger(*label)) {
    columns.label_leaf = label->column_index;
    columns.class_names = ClassNamesOf(features, columns.label);
  } else {
    columns.unused_labels =
        absl::StrCat("'", columns.label, "' is of the type ",
                     label->field->type()->ToString().substr(0, 100),
                     ", but labels are whole numbers or texts");
  }
  return columns;
}

}  // namespace gandem
