// SPDX-License-Identifier: Apache-2.0
//
// Detects virtual machines whose processor reports matrix tiles (AMX) without a
// tile size, as with a hypervisor that cuts CPUID off before leaf 0x1D. oneDNN
// (also in plain PyTorch) then configures tiles of no size, and the first
// bfloat16 product ends the process with SIGILL.
//
// Owner: main(). Thread safety: the main thread, before any other thread.
#pragma once

#include <cstdint>

namespace gandem {

// Values of CPUID (Intel SDM, volume 2A): the highest basic leaf, EDX of leaf
// 7, and EAX of leaf 0x1D, which is ignored if `max_leaf` is lower.
struct TileLeaves {
  uint32_t max_leaf = 0;
  uint32_t features = 0;
  uint32_t max_palette = 0;
};

// Returns whether tiles are reported without a size.
bool TilesHaveNoSize(const TileLeaves& leaves);

// Disables tiles without a size in oneDNN, unless ONEDNN_MAX_CPU_ISA is set.
// Must be called before the first tensor exists.
void HideTilesWithoutSize();

}  // namespace gandem
