// SPDX-License-Identifier: Apache-2.0
//
// What making images of stored ones has cost this process so far, and which of
// them were odd: for metrics and the log.
//
// Owner: the process. Thread safety: any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "pipeline/decoded_image.h"

namespace gandem {

class FinishCounters {
 public:
  // Of images that are in memory as pixels nothing is measured.
  std::atomic<int64_t> decode_ns = 0;
  std::atomic<int64_t> transform_ns = 0;  // color, crop, size, mirror

  // An image of which ImageKind::odd() says so.
  void CountOdd(const ImageKind& kind) {
    absl::MutexLock lock(&mu_);
    ++odd_[KindText(kind)];
  }
  // By KindText; each time that one was read.
  std::map<std::string, int64_t> OddImages() const {
    absl::MutexLock lock(&mu_);
    return odd_;
  }

 private:
  mutable absl::Mutex mu_;
  std::map<std::string, int64_t> odd_ ABSL_GUARDED_BY(mu_);
};

inline FinishCounters& ProcessFinishCounters() {
  static FinishCounters* const counters = new FinishCounters;
  return *counters;
}

}  // namespace gandem
