// SPDX-License-Identifier: Apache-2.0
//
// Normalizes names of files in archives, which programs write in several ways.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/files/printable.h"

namespace gandem {

// Returns the name as one path below the archive's root: "./a//0.png" and
// "/a/0.png" become "a/0.png".
//   INVALID_ARGUMENT  the name contains "..", which leads out of the archive.
inline absl::StatusOr<std::string> NormalMemberName(absl::string_view name) {
  constexpr size_t kMaxShownBytes = 200;
  std::string normal;
  for (const absl::string_view part : absl::StrSplit(name, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      return absl::InvalidArgumentError(absl::StrCat(
          "the member '", Printable(name, kMaxShownBytes),
          "' leads out of the archive (\"..\"): write the archive again from "
          "inside the folder of the images"));
    }
    absl::StrAppend(&normal, normal.empty() ? "" : "/", part);
  }
  return normal;
}

}  // namespace gandem
