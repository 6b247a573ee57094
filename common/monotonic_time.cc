// SPDX-License-Identifier: Apache-2.0
#include "common/monotonic_time.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "absl/time/clock.h"

namespace gandem {
namespace {

// Threads waiting for a deadline. A background thread makes their mutexes
// reevaluate conditions, as an unlock does.
class Waiters {
 public:
  static Waiters& Get() {
    // Never destroyed: other threads may wait until the process ends.
    static auto* const waiters = new Waiters;
    return *waiters;
  }

  void Add(absl::Mutex* mu) {
    absl::MutexLock lock(&mu_);
    waiting_.push_back(mu);
  }
  // The mutex is not used after the return.
  void Remove(absl::Mutex* mu) {
    absl::MutexLock lock(&mu_);
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), mu));
  }

 private:
  Waiters() : thread_([this] { Run(); }) {}

  [[noreturn]] void Run() {
    while (true) {
      absl::SleepFor(kLongestClockDelay / 2);
      absl::MutexLock lock(&mu_);
      for (absl::Mutex* const mu : waiting_) Touch(mu);
    }
  }

  // If the mutex is held, its holder reevaluates the conditions on release.
  static void Touch(absl::Mutex* mu) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (mu->TryLock()) mu->Unlock();
  }

  absl::Mutex mu_;
  std::vector<absl::Mutex*> waiting_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace

absl::Time MonotonicNow() {
  using SteadyClock = std::chrono::steady_clock;
  struct Start {
    absl::Time time = absl::Now();
    SteadyClock::time_point steady = SteadyClock::now();
  };
  static const Start start;
  return start.time + absl::FromChrono(SteadyClock::now() - start.steady);
}

bool AwaitUntil(absl::Mutex* mu, const absl::Condition& condition,
                absl::Time deadline) {
  if (condition.Eval()) return true;
  if (deadline == absl::InfiniteFuture()) {
    mu->Await(condition);
    return true;
  }
  const auto is_over = [&] {
    return condition.Eval() || MonotonicNow() >= deadline;
  };
  if (MonotonicNow() >= deadline) return false;
  Waiters::Get().Add(mu);
  while (!is_over()) {
    mu->AwaitWithTimeout(absl::Condition(&is_over), deadline - MonotonicNow());
  }
  Waiters::Get().Remove(mu);
  return condition.Eval();
}

}  // namespace gandem
