// SPDX-License-Identifier: Apache-2.0
//
// Reusable, page-aligned buffers of one size for finished samples: page faults
// of a new 50 MB buffer cost as much time as decoding into it.
//
// Owner: a sample board; buffers may outlive the PixelBuffers. Thread safety:
// buffers may be released in any thread; otherwise none.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "pipeline/memory/page_allocator.h"

namespace gandem {

class PixelBuffers {
 public:
  explicit PixelBuffers(int64_t num_values)
      : num_values_(static_cast<size_t>(num_values)) {}

  // Returns a page-aligned buffer with arbitrary contents.
  std::shared_ptr<float> Take() {
    Pages<float> buffer = spare_->Take();
    if (buffer == nullptr) buffer = MakePages<float>(num_values_);
    return {buffer.release(),
            [spare = spare_, size = num_values_](float* values) {
              spare->Keep(Pages<float>(values, PagesDeleter<float>{size}));
            }};
  }

 private:
  class Spare {
   public:
    Pages<float> Take() {
      absl::MutexLock lock(&mu_);
      return std::move(buffer_);
    }
    void Keep(Pages<float> buffer) {
      absl::MutexLock lock(&mu_);
      if (buffer_ == nullptr) buffer_ = std::move(buffer);
    }

   private:
    absl::Mutex mu_;
    Pages<float> buffer_ ABSL_GUARDED_BY(mu_);
  };

  const size_t num_values_;
  const std::shared_ptr<Spare> spare_ = std::make_shared<Spare>();
};

}  // namespace gandem
