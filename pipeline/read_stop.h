// SPDX-License-Identifier: Apache-2.0
//
// Stops reads that wait for a network. They check their thread's flag several
// times a second and return CANCELLED once it is set:
//
//   const ScopedReadStop scope(&stop);  // std::atomic<bool>
//   auto bytes = store.Fetch(index);
//
// Reads of local files do not check the flag.
//
// Owner: the reading function; the flag outlives the scope. Thread safety: a
// scope belongs to the thread that made it; flags may be set from any thread.
#pragma once

#include <atomic>

namespace gandem {

class ScopedReadStop {
 public:
  explicit ScopedReadStop(const std::atomic<bool>* stop) : outer_(flag_) {
    flag_ = stop;
  }
  ScopedReadStop(const ScopedReadStop&) = delete;
  ScopedReadStop& operator=(const ScopedReadStop&) = delete;
  ~ScopedReadStop() { flag_ = outer_; }

  // Returns whether the calling thread's reads are stopped.
  static bool Stopped() { return flag_ != nullptr && flag_->load(); }
  // Returns the flag for threads that read for the calling thread, or null.
  static const std::atomic<bool>* Current() { return flag_; }

 private:
  inline static thread_local const std::atomic<bool>* flag_ = nullptr;
  const std::atomic<bool>* const outer_;
};

}  // namespace gandem
