// SPDX-License-Identifier: Apache-2.0
//
// Finds the lines of config faults in a text proto. Faults contain field paths
// because a parsed message has no line numbers.
//
// Thread safety: pure functions.
#pragma once

#include <google/protobuf/message.h>

#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/faults.h"

namespace gandem {

// Returns INVALID_ARGUMENT with a line for each of the first faults, or OK.
// A line is "file:line:column: fault" if `text` sets the field that the fault
// starts with ("a.b[1].c 3 is not in [4, 5]"), or an outer part of its path.
// Line and column count from 1, columns in bytes. A line is "file: fault" if
// `text` does not set the field or one of `sets` ("path.to.field=value", or
// only the path) has replaced it. ParseTextProto has already accepted `text`
// for the type of `like`. Pass an empty `text` if it is generated.
absl::Status LocateFaults(const Faults& faults, absl::string_view text,
                          absl::string_view file,
                          std::span<const std::string> sets,
                          const google::protobuf::Message& like);

}  // namespace gandem
