// SPDX-License-Identifier: Apache-2.0
//
// Loads a network's state from safetensors or a file of torch.save()
// (state_dict_file.h). Never executes code in the file.
//
// Thread safety: the compute thread that owns the network.
// Errors: Status; Torch exceptions.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "training/state/tensors_by_name.h"

namespace gandem {

// Replaces all of `state`, a network's StateOf (module_state.h), by tensors of
// the same names. Spectral norm weights may be called weight_orig
// (torch.nn.utils.spectral_norm), and names may begin with "module."
// (DataParallel). Dropout's keys stay unchanged. Converts float16, bfloat16 and
// float64. Returns lines for the user about conversions.
//   errors of ReadSafetensors and ReadStateDict if the file cannot be read.
//   INVALID_ARGUMENT  lists all tensors that are missing, superfluous, of wrong
//                     shape or type, or not finite. Nothing has changed.
absl::StatusOr<std::vector<std::string>> LoadStateDict(
    const std::string& path, const TensorsByName& state);

}  // namespace gandem
