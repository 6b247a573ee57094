// SPDX-License-Identifier: Apache-2.0
#include "control_plane/command_line/build_info.h"

#include "absl/strings/str_cat.h"
#include "common/version.h"

namespace gandem {

std::string BuildInfo() {
  return absl::StrCat("gandem ", GandemVersion(), " (commit ", GANDEM_COMMIT,
                      ", LibTorch ", GANDEM_TORCH_VERSION, ")");
}

}  // namespace gandem
