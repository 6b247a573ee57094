// SPDX-License-Identifier: Apache-2.0
//
// Virtual machines whose processor says that it has matrix tiles (AMX) and does
// not say of what size: seen with a hypervisor that cuts CPUID off before its
// leaf 0x1D. oneDNN then configures tiles of no size, and the first bfloat16
// product ends the process with SIGILL (plain PyTorch just so).
//
// Owner: main(). Thread safety: the main thread, before any other exists.
#pragma once

#include <cstdint>

namespace gandem {

// Values of CPUID (Intel SDM, volume 2A): the highest basic leaf, register EDX
// of leaf 7, and register EAX of leaf 0x1D, which is ignored if `max_leaf` is
// below it.
struct TileLeaves {
  uint32_t max_leaf = 0;
  uint32_t features = 0;
  uint32_t max_palette = 0;
};

// Whether tiles are there in name only.
bool TilesHaveNoSize(const TileLeaves& leaves);

// Keeps oneDNN from using tiles without a size, unless ONEDNN_MAX_CPU_ISA is
// set. Must be called before the first tensor exists.
void HideTilesWithoutSize();

}  // namespace gandem
