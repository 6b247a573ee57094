// SPDX-License-Identifier: Apache-2.0
//
// Cumulative costs in this process of reading remote files and decoding images,
// for metrics and `gandem status`.
//
// Owner: the process. Thread safety: each counter is atomic; read at any time.
#pragma once

#include <atomic>
#include <cstdint>

namespace gandem {

struct IoCounters {
  std::atomic<int64_t> requests = 0;  // of remote files, retries included
  std::atomic<int64_t> bytes = 0;     // received
  std::atomic<int64_t> retries = 0;
  std::atomic<int64_t> cache_hits = 0;  // blocks found in data.cache_dir
  std::atomic<int64_t> cache_misses = 0;
  // Not counted for images that are in memory as pixels.
  std::atomic<int64_t> decode_ns = 0;
  std::atomic<int64_t> transform_ns = 0;  // color, crop, size, mirror
};

inline IoCounters& ProcessIoCounters() {
  static IoCounters counters;
  return counters;
}

}  // namespace gandem
