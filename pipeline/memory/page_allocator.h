// SPDX-License-Identifier: Apache-2.0
//
// Allocates large objects in pages of their own, which return to the system at
// once when freed. The heap retains such blocks while small objects lie between
// them, in one arena per thread: about twice the memory.
//
// Thread safety: any thread. Errors: std::bad_alloc, as of new.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <new>
#include <string>

namespace gandem {

template <typename T>
class PageAllocator {
 public:
  using value_type = T;

  PageAllocator() = default;
  template <typename U>
  PageAllocator(const PageAllocator<U>&) {}  // NOLINT: as of the standard

  T* allocate(size_t count) {
    void* const pages = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    return static_cast<T*>(pages);
  }
  void deallocate(T* values, size_t count) {
    munmap(values, count * sizeof(T));
  }

  bool operator==(const PageAllocator&) const = default;
};

using PagedString =
    std::basic_string<char, std::char_traits<char>, PageAllocator<char>>;

template <typename T>
struct PagesDeleter {
  size_t count = 0;
  void operator()(T* values) const {
    PageAllocator<T>().deallocate(values, count);
  }
};
template <typename T>
using Pages = std::unique_ptr<T, PagesDeleter<T>>;

// Allocates `count` zero values without touching the pages.
template <typename T>
Pages<T> MakePages(size_t count) {
  return Pages<T>(PageAllocator<T>().allocate(count), PagesDeleter<T>{count});
}

}  // namespace gandem
