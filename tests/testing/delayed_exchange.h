// SPDX-License-Identifier: Apache-2.0
//
// Both ends of an exchange with adversarial timing: each call first fails a
// drawn number of times with DEADLINE_EXCEEDED, or waits for a drawn time, and
// only then reaches the exchange below. The draws are a pure function of seed
// and call, so a failure can be repeated. What arrives is never changed: a run
// in EXACT must not notice.
//
// Owner: the test; the exchange below outlives it.
// Thread safety: as the exchange below.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "exchange/exchange.h"

namespace gandem::testing {

struct DelayOptions {
  uint64_t seed = 1;
  // Each call is refused 0 to this many times.
  int64_t max_refusals = 3;
  // A call that is let through waits up to this long before, within its own
  // deadline; zero: never, for roles that share one thread.
  absl::Duration max_wait = absl::ZeroDuration();
};

std::unique_ptr<GeneratorExchange> DelayGenerator(GeneratorExchange* below,
                                                  const DelayOptions& options);
std::unique_ptr<DiscriminatorExchange> DelayDiscriminator(
    DiscriminatorExchange* below, const DelayOptions& options);

}  // namespace gandem::testing
