// SPDX-License-Identifier: Apache-2.0
#include "common/faults.h"

#include "absl/strings/str_join.h"

namespace gandem {

absl::Status Faults::ToStatus() const {
  if (faults_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name_, ": ", absl::StrJoin(faults_, "; ")));
}

bool Faults::Check(bool fits, absl::string_view field, absl::string_view value,
                   absl::string_view low, absl::string_view high) {
  if (!fits) {
    Add(absl::StrCat(field, " ", value, " is not in [", low, ", ", high, "]"));
  }
  return fits;
}

}  // namespace gandem
