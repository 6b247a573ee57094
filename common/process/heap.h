// SPDX-License-Identifier: Apache-2.0
//
// Memory of the C library's malloc.
//
// Thread safety: before other threads start.
#pragma once

#include <malloc.h>

namespace gandem {

// glibc gives threads heaps of their own, eight for each core, and none takes
// what was freed in another one: images that are fetched in dozens of threads
// and dropped in others take a third more memory than they have bytes.
inline void ShareOneHeap() { mallopt(M_ARENA_MAX, 1); }

}  // namespace gandem
