// SPDX-License-Identifier: Apache-2.0
//
// Lower-case names of the states of proto/control.proto, such as "running".
#pragma once

#include <string>

#include "absl/strings/ascii.h"
#include "proto/control.pb.h"

namespace gandem {

inline std::string StateName(StatusReply::State state) {
  return absl::AsciiStrToLower(StatusReply::State_Name(state));
}

inline std::string StateName(WorkerStatus::State state) {
  return absl::AsciiStrToLower(WorkerStatus::State_Name(state));
}

}  // namespace gandem
