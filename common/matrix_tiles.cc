// SPDX-License-Identifier: Apache-2.0
#include "common/matrix_tiles.h"

#include <cstdlib>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace gandem {
namespace {

constexpr uint32_t kFeatureLeaf = 7;
constexpr uint32_t kTileLeaf = 0x1d;
constexpr uint32_t kTileFeature = uint32_t{1} << 24;

TileLeaves LeavesOfThisProcessor() {
  TileLeaves leaves;
#if defined(__x86_64__)
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  leaves.max_leaf = __get_cpuid_max(0, nullptr);
  if (__get_cpuid_count(kFeatureLeaf, 0, &a, &b, &c, &d) != 0) {
    leaves.features = d;
  }
  if (__get_cpuid_count(kTileLeaf, 0, &a, &b, &c, &d) != 0) {
    leaves.max_palette = a;
  }
#endif
  return leaves;
}

}  // namespace

bool TilesHaveNoSize(const TileLeaves& leaves) {
  return (leaves.features & kTileFeature) != 0 &&
         (leaves.max_leaf < kTileLeaf || leaves.max_palette == 0);
}

void HideTilesWithoutSize() {
  if (!TilesHaveNoSize(LeavesOfThisProcessor())) return;
  // Everything that oneDNN supports except tiles.
  setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16", /*overwrite=*/0);
}

}  // namespace gandem
