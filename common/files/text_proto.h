// SPDX-License-Identifier: Apache-2.0
//
// Parses text protos; errors give the place and a suggestion.
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

// Replaces `message` by the parsed `text`. Refuses a singular field that is
// given twice.
//   INVALID_ARGUMENT  "file:line:column: what", one line per error, with the
//                     nearest valid name; or more than 1 MiB; or not UTF-8 (a
//                     byte order mark is skipped)
absl::Status ParseTextProto(absl::string_view text, absl::string_view file,
                            google::protobuf::Message& message);

// Converts a position reported by protobuf (from 0, tabs advance to multiples
// of 8) to "line:column", both from 1; columns count bytes.
std::string PlaceIn(absl::string_view text, int line, int column);

// Removes the U+FEFF that some editors write at the start of UTF-8 text.
absl::string_view WithoutByteOrderMark(absl::string_view text);

// Replaces one field by "path.to.field=value". The value is in text format (a
// message in {}, a list in []); quotes around strings are optional. Creates
// missing messages on the path. Setting a member of a oneof clears the others.
//   INVALID_ARGUMENT  names `assignment` and the nearest field
absl::Status SetField(absl::string_view assignment,
                      google::protobuf::Message& message);

// Applies all `assignments` in order. Error messages start with "--set".
absl::Status SetFields(std::span<const std::string> assignments,
                       google::protobuf::Message& message);

}  // namespace gandem
