// SPDX-License-Identifier: Apache-2.0
//
// Explains the fields of a RunConfig: type, range, default, whether they may
// change, and comment of proto/config.proto, which is part of the binary.
//
// Thread safety: any thread.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

// Dotted paths of all fields of a RunConfig, in the order of the file.
std::vector<std::string> AllFields();

// The reference of a recipe: each field with type, range, default and the first
// sentence of its comment.
std::string ExplainAllFields();

// Several lines about the field with this path ("schedule.lag"). The end of a
// path ("lag") is enough; then all fields that have it are explained.
//   NOT_FOUND  no field; names the nearest ones.
absl::StatusOr<std::string> ExplainField(absl::string_view path);

}  // namespace gandem
