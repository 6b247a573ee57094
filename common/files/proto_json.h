// SPDX-License-Identifier: Apache-2.0
//
// Converts a message to JSON and back. Keys are proto field names; unset
// optional and message fields are omitted. Enums are lower case, integers are
// numbers (protobuf's own JSON writes int64 as strings), non-finite numbers are
// null, and invalid UTF-8 is repaired.
//
// Thread safety: pure functions.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "absl/strings/string_view.h"

namespace gandem {

// Returns one line without a line break, or with `indent` >= 0 several lines,
// indented by `indent` spaces per level.
std::string ProtoJson(const google::protobuf::Message& message,
                      int indent = -1);

// Sets the fields given in `text`; null becomes NaN and unknown fields are
// skipped. Returns false for invalid JSON or a value of the wrong type; some
// fields may be set by then.
bool ParseProtoJson(absl::string_view text, google::protobuf::Message& message);

}  // namespace gandem
