// SPDX-License-Identifier: Apache-2.0
//
// Runs a script of tests/ with the interpreter in GANDEM_TEST_PYTHON, to read
// or write gandem's formats with other libraries.
//
// Thread safety: any thread.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace gandem::testing {

// Runs `script`, a path relative to the repository root, and returns its exit
// status, which is 0 if its assertions hold.
inline int RunPython(absl::string_view script, absl::string_view arguments) {
  const char* const python = std::getenv("GANDEM_TEST_PYTHON");
  const char* const source = std::getenv("GANDEM_SOURCE_DIR");
  EXPECT_NE(python, nullptr);
  EXPECT_NE(source, nullptr);
  return std::system(
      absl::StrCat("'", python, "' '", source, "/", script, "' ", arguments)
          .c_str());
}

}  // namespace gandem::testing
