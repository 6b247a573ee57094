// SPDX-License-Identifier: Apache-2.0
//
// Whether what a request brings stands still: for so long, then for twice as
// long, and so on. Before the first byte a server may be busy, and it says
// nothing.
//
// Owner: the request. Thread safety: none.
#pragma once

#include <cstdint>
#include <utility>

#include "absl/time/time.h"

namespace gandem {

class StallWatch {
 public:
  StallWatch(absl::Duration patience, absl::Time now)
      : patience_(patience), since_(now) {}

  // True once for each time; what is received counts from 0 on again then.
  bool IsStalled(int64_t received, absl::Time now) {
    if (received != std::exchange(received_, received)) since_ = now;
    if (received == 0 || now < since_ + patience_) return false;
    patience_ *= 2;
    since_ = now;
    received_ = 0;
    return true;
  }

 private:
  absl::Duration patience_;
  absl::Time since_;  // nothing came, or it was looked at for the first time
  int64_t received_ = 0;
};

}  // namespace gandem
