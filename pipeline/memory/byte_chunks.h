// SPDX-License-Identifier: Apache-2.0
//
// Bytes that wait for a while and go in about the order in which they came, in
// chunks of pages: a chunk is the system's again when the last of its bytes is
// dropped. The heap would keep what such bytes took at most, for ever.
//
// Owner: a prefetcher; bytes may outlive it.
// Thread safety: any thread.
// Errors: std::bad_alloc, as of new.
#pragma once

#include <cstddef>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace gandem {

class ByteChunks {
 public:
  // They never change.
  struct Bytes {
    std::shared_ptr<const char> owner = nullptr;  // null: no bytes
    absl::string_view view = {};
  };

  // A copy of `bytes`.
  Bytes Keep(absl::string_view bytes);

 private:
  using Chunk = std::shared_ptr<char>;

  Chunk TakePlace(size_t size);

  absl::Mutex mu_;
  Chunk chunk_ ABSL_GUARDED_BY(mu_);  // null: none was needed
  size_t used_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace gandem
