// SPDX-License-Identifier: Apache-2.0
//
// What kind of device a role computes on: "cuda" is whichever GPU a worker has,
// "cuda:1" a certain one.
//
// Thread safety: pure functions. Errors: none; a device that there cannot be is
// the validation's to find.
#pragma once

#include "absl/strings/match.h"
#include "proto/config.pb.h"

namespace gandem {

inline bool IsOnGpu(const RoleConfig& role) {
  return absl::StartsWith(role.device(), "cuda");
}

}  // namespace gandem
