// SPDX-License-Identifier: Apache-2.0
//
// A planted bug: `late` is read without the mutex that protects `guarded`.
#include <thread>

#include "absl/synchronization/mutex.h"

int main() {
  absl::Mutex mu;
  int guarded = 0;
  int late = 0;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) {
      absl::MutexLock lock(&mu);
      ++guarded;
    }
    ++late;
  });
  for (int i = 0; i < 1000; ++i) {
    absl::MutexLock lock(&mu);
    ++guarded;
  }
  ++late;
  other.join();
  return guarded == 2000 ? 0 : 1;
}
