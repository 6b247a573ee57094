// SPDX-License-Identifier: Apache-2.0
//
// The memory of images that nobody needs any more, for the next ones: fresh
// memory is zeroed twice, by the system and by std::vector, which takes a tenth
// of the time of decoding into it.
//
// Owner: each thread has its own, of some images.
// Thread safety: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gandem {

// `size` bytes, which are anything.
std::vector<uint8_t> TakeSpareBytes(size_t size);

// For later calls of TakeSpareBytes in this thread; what is too large to be
// kept is freed.
void KeepSpareBytes(std::vector<uint8_t> bytes);

}  // namespace gandem
