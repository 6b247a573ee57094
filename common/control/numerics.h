// SPDX-License-Identifier: Apache-2.0
//
// Settings that decide, beside the recipe and the numbers of threads, which
// bits a process computes: the kernels that LibTorch and its libraries choose
// by the processor, the GPUs and environment variables.
//
// Thread safety: any thread, as long as none changes the environment.
// Errors: none; what the system does not tell is left out.
#pragma once

#include <map>
#include <span>
#include <string>

namespace gandem {

// By name: "CPU capability" (as at::get_cpu_capability has it), "processor",
// "GPU", and each variable that begins with ATEN_, DNNL_, MKL_ or ONEDNN_.
using Numerics = std::map<std::string, std::string>;
inline constexpr char kGpuNumerics[] = "GPU";

// The settings of this process. All texts are printable and short.
Numerics ProcessNumerics();

// A difference between two machines that affects a run.
struct OwnedNumerics {
  std::string owner;  // "generator 0 on node7"
  Numerics numerics;
};
// "CPU capability is AVX2 (generator 0 on a) and AVX512 (generator 1 on b);
// ...". Empty: all are the same.
std::string NumericsDifferences(std::span<const OwnedNumerics> all);
// Advice that follows a list of differences.
inline constexpr char kNumericsAdvice[] =
    "the same computation may give other bits there: use machines of one kind, "
    "with the same variables (ATEN_CPU_CAPABILITY sets the CPU capability)";

}  // namespace gandem
