// SPDX-License-Identifier: Apache-2.0
//
// Sums of elements at any alignment. BFLOAT16 and FLOAT16 are added in float32
// and rounded to nearest even; overflow gives infinity, NaN stays NaN.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collective/collective.h"

namespace gandem {

// Computes own[i] = received[i] + own[i] for equal sizes of whole elements.
void AddElements(ElementType type, std::span<const std::byte> received,
                 std::span<std::byte> own);

// Computes out[i] = ((blocks[0][i] + blocks[1][i]) + ...), rounded once. The
// consecutive `blocks` have the size of `out`, which must not overlap them.
void SumBlocks(ElementType type, std::span<const std::byte> blocks,
               std::span<std::byte> out);

// Conversions for buffers of 16-bit elements.
uint16_t ToBfloat16(float value);
float FromBfloat16(uint16_t bits);
uint16_t ToFloat16(float value);
float FromFloat16(uint16_t bits);

}  // namespace gandem
