// SPDX-License-Identifier: Apache-2.0
//
// Buffers for bytes that are freed roughly in order of allocation, in chunks of
// pages. A chunk returns to the system when its last bytes are freed. The heap
// would retain its peak size forever.
//
// Owner: a prefetcher; bytes may outlive the ByteChunks. Thread safety: any
// thread. Errors: std::bad_alloc, as of new.
#pragma once

#include <cstddef>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace gandem {

class ByteChunks {
 public:
  // Immutable.
  struct Bytes {
    std::shared_ptr<const char> owner = nullptr;  // null: no bytes
    absl::string_view view = {};
  };

  // Copies `bytes`.
  Bytes Keep(absl::string_view bytes);

 private:
  using Chunk = std::shared_ptr<char>;

  Chunk TakePlace(size_t size);

  absl::Mutex mu_;
  Chunk chunk_ ABSL_GUARDED_BY(mu_);  // null: not needed yet
  size_t used_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace gandem
