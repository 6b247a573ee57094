// SPDX-License-Identifier: Apache-2.0
//
// Ends reads that wait for a network. A thread says which flag ends its reads;
// they look at it several times a second and return CANCELLED once it is set:
//
//   const ScopedReadStop scope(&stop);  // std::atomic<bool>
//   auto bytes = store.Fetch(index);
//
// Reads of local files do not look.
//
// Owner: the function that reads; the flag outlives the scope.
// Thread safety: a scope belongs to the thread that made it; flags are set from
// any.
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

  // Whether the reads of the calling thread are stopped.
  static bool Stopped() { return flag_ != nullptr && flag_->load(); }
  // The flag, for threads that read for the calling one; null: nothing ends its
  // reads.
  static const std::atomic<bool>* Current() { return flag_; }

 private:
  inline static thread_local const std::atomic<bool>* flag_ = nullptr;
  const std::atomic<bool>* const outer_;
};

}  // namespace gandem
