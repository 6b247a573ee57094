// SPDX-License-Identifier: Apache-2.0
//
// Programs that the tests start.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "common/process/binary_folder.h"

namespace gandem::testing {

// The path of `name` beside this program of tests; dies where that is unknown.
inline std::string TestProgram(absl::string_view name) {
  return BinaryFolder().value() + "/" + std::string(name);
}

}  // namespace gandem::testing
