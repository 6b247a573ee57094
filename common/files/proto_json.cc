// SPDX-License-Identifier: Apache-2.0
#include "common/files/proto_json.h"

#include <google/protobuf/descriptor.h>

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "common/check.h"

namespace gandem {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using Json = nlohmann::ordered_json;

Json ToJson(const Message& message);

// Element `i` of a repeated field; -1: the field is not repeated.
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

// By reflection: a new field needs no code here. Fields without presence are
// always written, so that readers need no defaults.
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

}  // namespace

std::string ProtoJson(const Message& message, int indent) {
  return ToJson(message).dump(indent, ' ', false,
                              Json::error_handler_t::replace);
}

}  // namespace gandem
