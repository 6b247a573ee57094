// SPDX-License-Identifier: Apache-2.0
//
// A message as JSON for people and scripts: fields by their names in the proto,
// all of them but optional and message fields that are not set; enums in lower
// case, integers as numbers (protobuf's own JSON makes strings of int64), what
// is not finite as null, and text that is not UTF-8 repaired. And back.
//
// Thread safety: pure functions.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "absl/strings/string_view.h"

namespace gandem {

// In one line without its end, or indented by `indent` >= 0 spaces a level.
std::string ProtoJson(const google::protobuf::Message& message,
                      int indent = -1);

// Sets the fields that `text` has; null is NaN. Fields that `message` does not
// know are skipped. False: it is no such JSON, or a value is of another type
// than its field; some fields may be set then.
bool ParseProtoJson(absl::string_view text, google::protobuf::Message& message);

}  // namespace gandem
