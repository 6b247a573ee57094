// SPDX-License-Identifier: Apache-2.0
//
// A role and rank in the run, held by at most one process at a time.
#pragma once

#include <compare>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/config/role_name.h"
#include "proto/metrics.pb.h"

namespace gandem {

struct WorkerKey {
  Role role = ROLE_UNKNOWN;
  int rank = 0;
  auto operator<=>(const WorkerKey&) const = default;
};

// "generator 0"
inline std::string ToString(WorkerKey key) {
  return absl::StrCat(RoleName(key.role), " ", key.rank);
}

}  // namespace gandem
