// SPDX-License-Identifier: Apache-2.0
//
// A network's parameters and buffers from a state dict of somebody else:
// safetensors, or a file of torch.save() (state_dict_file.h), of which nothing
// is executed.
//
// Thread safety: the compute thread that owns the network.
// Errors: Status; Torch exceptions.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "training/state/tensors_by_name.h"

namespace gandem {

// Replaces all of `state`, a network's StateOf (module_state.h), whatever its
// types and devices. Names are the network's. Also understood are weight_orig
// for a weight with spectral norm (torch.nn.utils.spectral_norm), and names
// that all begin with "module." (DataParallel). Keys of dropout masks are no
// part of such files and stay. float16, bfloat16 and float64 are converted.
// Returns lines for the user on what was converted.
//   those of ReadSafetensors and ReadStateDict for a file that is neither.
//   INVALID_ARGUMENT  lists every tensor that is missing, left over, of another
//                     shape or type, or not finite. Nothing was changed.
absl::StatusOr<std::vector<std::string>> LoadStateDict(
    const std::string& path, const TensorsByName& state);

}  // namespace gandem
