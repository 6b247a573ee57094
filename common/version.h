// SPDX-License-Identifier: Apache-2.0
//
// Release that this binary was built from.
#pragma once

#include "absl/strings/string_view.h"

namespace gandem {

absl::string_view GandemVersion();  // "1.2.3"

}  // namespace gandem
