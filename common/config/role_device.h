// SPDX-License-Identifier: Apache-2.0
//
// Device of a role: "cuda" is any GPU of the worker's host, "cuda:1" a specific
// one.
//
// Thread safety: pure functions. Errors: none; validation checks devices.
#pragma once

#include "absl/strings/match.h"
#include "proto/config.pb.h"

namespace gandem {

inline bool IsOnGpu(const RoleConfig& role) {
  return absl::StartsWith(role.device(), "cuda");
}

}  // namespace gandem
