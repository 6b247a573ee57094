// SPDX-License-Identifier: Apache-2.0
#include "common/version.h"

namespace gandem {

absl::string_view GandemVersion() { return GANDEM_VERSION; }

}  // namespace gandem
