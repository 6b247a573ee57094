// SPDX-License-Identifier: Apache-2.0
//
// Networks that begin with a state dict which the run was given
// (common/checkpoint/initial_state.h) in place of drawn values.
//
// Thread safety: the compute thread. Errors: below; Torch exceptions.
#pragma once

#include <torch/nn/module.h>

#include <initializer_list>
#include <string>

#include "absl/status/status.h"
#include "training/roles/role_parts.h"

namespace gandem {

// Sets parameters and buffers of `networks`, those of `role` ("generator",
// "discriminator"), if the run keeps a state dict for it; every rank reads the
// same file. Does nothing where the role resumes from a checkpoint, or without
// a run folder.
//   those of FindInitialState (common/checkpoint/initial_state.h) and of
//   LoadStateDict (training/state/load_state_dict.h).
absl::Status BeginAsGiven(const RoleSetup& setup, const std::string& role,
                          std::initializer_list<torch::nn::Module*> networks);

}  // namespace gandem
