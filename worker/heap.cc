// SPDX-License-Identifier: Apache-2.0
//
// The heap of worker programs is jemalloc's: as fast as the C library's, a
// tenth to a seventh smaller at its peak, which is nearly the same in each run;
// that is what makes it predictable (docs/performance.md). It reads this when
// the process starts (jemalloc(3), TUNING).
//
// narenas: threads that had heaps of their own would not take what was freed in
// another one. Images that are fetched in dozens of threads and dropped in
// others would take a third more memory than they have bytes.
// oversize_threshold: nor does a tensor of 8 MiB get a heap of its own.
// decay: a training step frees and asks again for the same large blocks. Given
// back to the kernel in between, they come back as page faults: a fifth of the
// time of a worker with small networks.
extern "C" const char* malloc_conf;
const char* malloc_conf =
    "narenas:1,oversize_threshold:0,dirty_decay_ms:-1,muzzy_decay_ms:-1";
