// SPDX-License-Identifier: Apache-2.0
//
// Paths of programs that tests start.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "common/process/binary_folder.h"

namespace gandem::testing {

// Returns the path of `name` beside this program; dies if it is unknown.
inline std::string TestProgram(absl::string_view name) {
  return BinaryFolder().value() + "/" + std::string(name);
}

}  // namespace gandem::testing
