// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/temp_dir.h"

#include <stdlib.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace gandem::testing {

TempDir::TempDir() {
  path_ = std::filesystem::temp_directory_path() / "gandem-test-XXXXXX";
  GANDEM_CHECK(mkdtemp(path_.data()) != nullptr);
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TempDir::operator/(absl::string_view name) const {
  return absl::StrCat(path_, "/", name);
}

}  // namespace gandem::testing
