// SPDX-License-Identifier: Apache-2.0
//
// Name of a role in files, programs and messages: "generator".
#pragma once

#include <string>

#include "absl/strings/ascii.h"
#include "proto/metrics.pb.h"

namespace gandem {

inline std::string RoleName(Role role) {
  return absl::AsciiStrToLower(Role_Name(role));
}

}  // namespace gandem
