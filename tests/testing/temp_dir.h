// SPDX-License-Identifier: Apache-2.0
//
// An empty folder for one test, removed by the destructor.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace gandem::testing {

class TempDir {
 public:
  TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();

  const std::string& path() const { return path_; }
  // Returns path()/name.
  std::string operator/(absl::string_view name) const;

 private:
  std::string path_;
};

}  // namespace gandem::testing
