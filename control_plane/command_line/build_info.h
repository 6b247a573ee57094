// SPDX-License-Identifier: Apache-2.0
//
// Text of `gandem --version`.
#pragma once

#include <string>

namespace gandem {

// Example: "gandem 1.2.3 (commit 0123abcd, LibTorch 2.11.0)".
std::string BuildInfo();

}  // namespace gandem
