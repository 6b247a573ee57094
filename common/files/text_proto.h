// SPDX-License-Identifier: Apache-2.0
//
// Text protos that people write, with errors that say where and what instead.
//
// Thread safety: pure functions.
#pragma once

#include <google/protobuf/message.h>

#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gandem {

inline constexpr size_t kMaxTextProtoBytes = 1 << 20;

// Replaces `message` by what `text` says. A field that is not repeated may
// stand once.
//   INVALID_ARGUMENT  "file:line:column: what", one line per error, with the
//                     nearest valid name; or more than 1 MiB; or not UTF-8
//                     (a byte order mark at the start is skipped).
absl::Status ParseTextProto(absl::string_view text, absl::string_view file,
                            google::protobuf::Message& message);

// "line:column", both from 1, of what protobuf says of `text`: it counts from
// 0, and a tab to the next multiple of 8. Columns count bytes.
std::string PlaceIn(absl::string_view text, int line, int column);

// Some editors start a text with U+FEFF, which says nothing in UTF-8.
absl::string_view WithoutByteOrderMark(absl::string_view text);

// Applies "path.to.field=value", the value in text format: a message in {},
// a list in []. Replaces the field; setting a member of a oneof drops another.
// A path through a message that is not there creates it; quotes around a string
// may be left out.
//   INVALID_ARGUMENT  names `assignment` and the nearest field.
absl::Status SetField(absl::string_view assignment,
                      google::protobuf::Message& message);

// The same for what --set says, in its order; INVALID_ARGUMENT says --set.
absl::Status SetFields(std::span<const std::string> assignments,
                       google::protobuf::Message& message);

}  // namespace gandem
