// SPDX-License-Identifier: Apache-2.0
//
// Explains the fields of a RunConfig from proto/config.proto, which is part of
// the binary: type, range, default, comment, and whether they may change.
//
// Thread safety: any thread.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

// Returns dotted paths of all fields of a RunConfig, in the order of the file.
std::vector<std::string> AllFields();

// Returns a reference of all fields: type, range, default and the first
// sentence of the comment.
std::string ExplainAllFields();

// Explains the field `path`, or all fields whose path ends in `path`.
//   NOT_FOUND  no such field; names the nearest ones
absl::StatusOr<std::string> ExplainField(absl::string_view path);

}  // namespace gandem
