// SPDX-License-Identifier: Apache-2.0
//
// The device that a user names for a network.
//
// Thread safety: any thread. Errors: Status only.
#pragma once

#include <c10/core/Device.h>

#include <string>

#include "absl/status/statusor.h"

namespace gandem {

// "cpu" or "cuda:N"; empty: cpu.
//   INVALID_ARGUMENT  no such device, or none here.
absl::StatusOr<at::Device> ParseDevice(const std::string& text);

}  // namespace gandem
