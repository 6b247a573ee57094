// SPDX-License-Identifier: Apache-2.0
#include "training/roles/initial_state.h"

#include <vector>

#include "common/checkpoint/initial_state.h"
#include "common/process/log.h"
#include "common/status.h"
#include "training/state/load_state_dict.h"
#include "training/state/module_state.h"

namespace gandem {
absl::Status BeginAsGiven(const RoleSetup& setup, const std::string& role,
                          std::initializer_list<torch::nn::Module*> networks) {
  if (!setup.resume_from.empty() || setup.run_dir.empty()) {
    return absl::OkStatus();
  }
  GANDEM_ASSIGN_OR_RETURN(const std::string path,
                          FindInitialState(setup.run_dir, role));
  if (path.empty()) return absl::OkStatus();
  std::vector<std::string> lines;
  for (torch::nn::Module* const network : networks) {
    GANDEM_ASSIGN_OR_RETURN(lines, LoadStateDict(path, StateOf(*network)));
  }
  GANDEM_LOG_INFO("the {} begins with {}", role, path);
  for (const std::string& line : lines) {
    GANDEM_LOG_INFO("the {}: {}", role, line);
  }
  return absl::OkStatus();
}

}  // namespace gandem
