// SPDX-License-Identifier: Apache-2.0
//
// Sums of elements as bytes at any address. BFLOAT16 and FLOAT16 are added in
// float32 and rounded to the nearest, ties to even; too large becomes infinity,
// NaN stays NaN.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collective/collective.h"

namespace gandem {

// own[i] = received[i] + own[i], for sizes that are equal and of whole
// elements.
void AddElements(ElementType type, std::span<const std::byte> received,
                 std::span<std::byte> own);

// out[i] = ((blocks[0][i] + blocks[1][i]) + ...), rounded once. `blocks` lie
// one after the other, each as large as `out`, which is none of them.
void SumBlocks(ElementType type, std::span<const std::byte> blocks,
               std::span<std::byte> out);

// Conversions for code that fills or reads a buffer of 16-bit elements.
uint16_t ToBfloat16(float value);
float FromBfloat16(uint16_t bits);
uint16_t ToFloat16(float value);
float FromFloat16(uint16_t bits);

}  // namespace gandem
