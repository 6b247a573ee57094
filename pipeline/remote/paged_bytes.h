// SPDX-License-Identifier: Apache-2.0
//
// Bytes in pages of their own. Dropped, they are the system's again at once,
// while the heap keeps what small things lie between: of blocks that come and
// go it would hold twice as many.
//
// Owner: whoever holds it. Thread safety: immutable.
// Errors: std::bad_alloc, as of new.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

#include "absl/strings/string_view.h"

namespace gandem {

class PagedBytes {
 public:
  explicit PagedBytes(absl::string_view bytes)
      : size_(bytes.size()), pages_(Map(bytes.size())) {
    std::memcpy(pages_, bytes.data(), size_);
  }
  PagedBytes(const PagedBytes&) = delete;
  PagedBytes& operator=(const PagedBytes&) = delete;
  ~PagedBytes() { munmap(pages_, RoomOf(size_)); }

  absl::string_view view() const {
    return {static_cast<const char*>(pages_), size_};
  }

 private:
  static size_t RoomOf(size_t size) { return std::max<size_t>(size, 1); }
  static void* Map(size_t size) {
    void* const pages = mmap(nullptr, RoomOf(size), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    return pages;
  }

  const size_t size_;
  void* const pages_;
};

}  // namespace gandem
