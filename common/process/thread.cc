// SPDX-License-Identifier: Apache-2.0
#include "common/process/thread.h"

#include <pthread.h>

#include <string>
#include <utility>

namespace gandem {

Thread::Thread(absl::string_view name, absl::AnyInvocable<void() &&> run)
    : thread_([name = std::string(name.substr(0, 15)),
               run = std::move(run)]() mutable noexcept {
        pthread_setname_np(pthread_self(), name.c_str());
        std::move(run)();
      }) {}

Thread& Thread::operator=(Thread&& other) {
  Join();
  thread_ = std::move(other.thread_);
  return *this;
}

void Thread::Join() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace gandem
