// SPDX-License-Identifier: Apache-2.0
//
// Grids of the averaged generator's images while a run trains. Noise and labels
// are fixed (Purpose::kSample, step 0), so the grids of a run show the same
// images growing better.
//
// Thread safety: the compute thread. Errors: a grid that cannot be written is
// logged and left out; training goes on.
#pragma once

#include <functional>
#include <string>

#include "models/network.h"
#include "proto/config.pb.h"
#include "training/tensor_bytes.h"

namespace gandem {

// Writes run_dir/samples/round-N.png when one is due after N completed rounds
// and returns its path below run_dir, else "".
std::function<std::string(int64_t completed_rounds, Generator& average)>
SampleWriter(const RunConfig& config, const std::string& run_dir,
             const Compute& compute);

}  // namespace gandem
