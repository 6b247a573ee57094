// SPDX-License-Identifier: Apache-2.0
#include "common/faults.h"

#include <utility>

#include "absl/strings/str_join.h"

namespace gandem {

void Faults::Add(std::string fault) { faults_.push_back(std::move(fault)); }

absl::Status Faults::ToStatus() const {
  if (faults_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name_, ": ", absl::StrJoin(faults_, "; ")));
}

void Faults::AddRange(absl::string_view field, absl::string_view value,
                      absl::string_view low, absl::string_view high) {
  Add(absl::StrCat(field, " ", value, " is not in [", low, ", ", high, "]"));
}

}  // namespace gandem
