// SPDX-License-Identifier: Apache-2.0
//
// Finds the lines of fields in a text proto. Checks of values report paths,
// since a parsed message has no line numbers.
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

// INVALID_ARGUMENT with a line for each of the first `faults`, OK when there
// are none.
// "file:line:column: fault" if the field that it begins with ("a.b[1].c 3 is
// not in [4, 5]"), or an outer part of its path, stands in `text`, which
// ParseTextProto has taken as a message of the type of `like`; both from 1,
// columns in bytes. "file: fault" if it stands nowhere, or one of `sets`
// ("path.to.field=value", or only the path) has replaced it. A `text` that
// nobody wrote is better left empty.
absl::Status LocateFaults(const Faults& faults, absl::string_view text,
                          absl::string_view file,
                          std::span<const std::string> sets,
                          const google::protobuf::Message& like);

}  // namespace gandem
