// SPDX-License-Identifier: Apache-2.0
//
// Settings, besides recipe and thread counts, that affect the computed bits:
// kernels depend on processor, GPU and environment variables.
//
// Thread safety: any thread, if no thread changes the environment.
// Errors: none; unavailable settings are left out.
#pragma once

#include <map>
#include <span>
#include <string>

namespace gandem {

// Settings by name: "CPU capability" (like at::get_cpu_capability),
// "processor", "GPU", and each variable with prefix ATEN_, DNNL_, MKL_ or
// ONEDNN_.
using Numerics = std::map<std::string, std::string>;
inline constexpr char kGpuNumerics[] = "GPU";

// Returns the settings of this process as short printable texts.
Numerics ProcessNumerics();

struct OwnedNumerics {
  std::string owner;  // "generator 0 on node7"
  Numerics numerics;
};
// Returns "CPU capability is AVX2 (generator 0 on a) and AVX512 (generator 1 on
// b); ...", or "" without differences.
std::string NumericsDifferences(std::span<const OwnedNumerics> all);
inline constexpr char kNumericsAdvice[] =
    "the same computation may give other bits there: use machines of one kind, "
    "with the same variables (ATEN_CPU_CAPABILITY sets the CPU capability)";

}  // namespace gandem
