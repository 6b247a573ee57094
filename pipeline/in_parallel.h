// SPDX-License-Identifier: Apache-2.0
//
// Runs several waits concurrently: opening a remote shard takes many round
// trips, and a dataset has hundreds of shards.
//
// Thread safety: pure functions, except for their arguments.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/process/thread.h"
#include "pipeline/read_stop.h"

namespace gandem {

// Returns make(0), ..., make(count - 1), evaluated in up to `most` threads,
// including the caller's, whose stop stops all (read_stop.h). After a failure
// no further call starts; returns the failure with the lowest index.
template <typename T, typename Make>
absl::StatusOr<std::vector<T>> MakeInParallel(int64_t count, int64_t most,
                                              const Make& make) {
  // Not set: not attempted because another element failed.
  std::vector<std::optional<absl::StatusOr<T>>> made(
      static_cast<size_t>(count));
  std::atomic<size_t> next = 0;
  std::atomic<bool> failed = false;
  const std::atomic<bool>* const stop = ScopedReadStop::Current();
  const auto make_some = [&] {
    const ScopedReadStop scope(stop);
    for (size_t i = next++; i < made.size() && !failed; i = next++) {
      made[i] = make(static_cast<int64_t>(i));
      if (!made[i]->ok()) failed = true;
    }
  };
  {
    std::vector<Thread> threads;
    for (int64_t i = 1; i < most && i < count; ++i) {
      threads.emplace_back("opens", make_some);
    }
    make_some();
  }  // joins
  for (const auto& one : made) {
    if (one.has_value() && !one->ok()) return one->status();
  }
  std::vector<T> all;
  for (auto& one : made) all.push_back(**std::move(one));
  return all;
}

}  // namespace gandem
