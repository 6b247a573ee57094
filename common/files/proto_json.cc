// SPDX-License-Identifier: Apache-2.0
#include "common/files/proto_json.h"

#include <google/protobuf/descriptor.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "common/check.h"

namespace gandem {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using Json = nlohmann::ordered_json;

constexpr double kNotFinite = std::numeric_limits<double>::quiet_NaN();

Json ToJson(const Message& message);

// Converts a field, or element `i` >= 0 of a repeated field.
Json ValueToJson(const Message& message, const FieldDescriptor* field, int i) {
  const google::protobuf::Reflection& from = *message.GetReflection();
#define GANDEM_GET(Type)                       \
  i < 0 ? Json(from.Get##Type(message, field)) \
        : Json(from.GetRepeated##Type(message, field, i))
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return GANDEM_GET(Int32);
    case FieldDescriptor::CPPTYPE_INT64:
      return GANDEM_GET(Int64);
    case FieldDescriptor::CPPTYPE_UINT32:
      return GANDEM_GET(UInt32);
    case FieldDescriptor::CPPTYPE_UINT64:
      return GANDEM_GET(UInt64);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return GANDEM_GET(Double);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return GANDEM_GET(Float);
    case FieldDescriptor::CPPTYPE_BOOL:
      return GANDEM_GET(Bool);
    case FieldDescriptor::CPPTYPE_STRING:
      return GANDEM_GET(String);
#undef GANDEM_GET
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* const value = i < 0 ? from.GetEnum(message, field)
                                      : from.GetRepeatedEnum(message, field, i);
      return absl::AsciiStrToLower(value->name());
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ToJson(i < 0 ? from.GetMessage(message, field)
                          : from.GetRepeatedMessage(message, field, i));
  }
  GANDEM_CHECK(false);
}

// Uses reflection, so new fields need no code here. Always writes fields
// without presence so that readers need no defaults.
Json ToJson(const Message& message) {
  Json json = Json::object();
  const google::protobuf::Reflection& from = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* const field = message.GetDescriptor()->field(i);
    if (field->is_repeated()) {
      Json list = Json::array();
      for (int k = 0; k < from.FieldSize(message, field); ++k) {
        list.push_back(ValueToJson(message, field, k));
      }
      json[field->name()] = std::move(list);
    } else if (!field->has_presence() || from.HasField(message, field)) {
      json[field->name()] = ValueToJson(message, field, -1);
    }
  }
  return json;
}

bool FromJson(const Json& json, Message& message);

// Sets or appends to a field. Returns false if `json` has a wrong type.
bool SetFromJson(const Json& json, const FieldDescriptor* field,
                 Message& message) {
  const google::protobuf::Reflection& to = *message.GetReflection();
  const bool is_list = field->is_repeated();
#define GANDEM_SET(Type, fits, value)               \
  {                                                 \
    if (!(fits)) return false;                      \
    is_list ? to.Add##Type(&message, field, value)  \
            : to.Set##Type(&message, field, value); \
    return true;                                    \
  }
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      GANDEM_SET(Int32, json.is_number_integer(), json.get<int32_t>());
    case FieldDescriptor::CPPTYPE_INT64:
      GANDEM_SET(Int64, json.is_number_integer(), json.get<int64_t>());
    case FieldDescriptor::CPPTYPE_UINT32:
      GANDEM_SET(UInt32, json.is_number_integer(), json.get<uint32_t>());
    case FieldDescriptor::CPPTYPE_UINT64:
      GANDEM_SET(UInt64, json.is_number_integer(), json.get<uint64_t>());
    case FieldDescriptor::CPPTYPE_DOUBLE:
      GANDEM_SET(Double, json.is_number() || json.is_null(),
                 json.is_null() ? kNotFinite : json.get<double>());
    case FieldDescriptor::CPPTYPE_FLOAT:
      GANDEM_SET(
          Float, json.is_number() || json.is_null(),
          json.is_null() ? static_cast<float>(kNotFinite) : json.get<float>());
    case FieldDescriptor::CPPTYPE_BOOL:
      GANDEM_SET(Bool, json.is_boolean(), json.get<bool>());
    case FieldDescriptor::CPPTYPE_STRING:
      GANDEM_SET(String, json.is_string(), json.get<std::string>());
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* const value =
          json.is_string() ? field->enum_type()->FindValueByName(
                                 absl::AsciiStrToUpper(json.get<std::string>()))
                           : nullptr;
      GANDEM_SET(Enum, value != nullptr, value);
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return FromJson(json, is_list ? *to.AddMessage(&message, field)
                                    : *to.MutableMessage(&message, field));
#undef GANDEM_SET
  }
  return false;
}

bool FromJson(const Json& json, Message& message) {
  if (!json.is_object()) return false;
  for (const auto& [name, value] : json.items()) {
    const FieldDescriptor* const field =
        message.GetDescriptor()->FindFieldByName(name);
    if (field == nullptr) continue;
    if (!field->is_repeated()) {
      if (!SetFromJson(value, field, message)) return false;
      continue;
    }
    if (!value.is_array()) return false;
    for (const Json& element : value) {
      if (!SetFromJson(element, field, message)) return false;
    }
  }
  return true;
}

}  // namespace

bool ParseProtoJson(absl::string_view text, Message& message) {
  return FromJson(Json::parse(text.begin(), text.end(), nullptr,
                              /*allow_exceptions=*/false),
                  message);
}

std::string ProtoJson(const Message& message, int indent) {
  return ToJson(message).dump(indent, ' ', false,
                              Json::error_handler_t::replace);
}

}  // namespace gandem
