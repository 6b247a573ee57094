// SPDX-License-Identifier: Apache-2.0
#include "common/process/thread.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

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

void LowerPriority() {
  // Five niceness steps are a third of the weight. Ignores a refusal.
  const auto self = static_cast<id_t>(gettid());
  (void)setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + 5);
}

}  // namespace gandem
