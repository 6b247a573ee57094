// SPDX-License-Identifier: Apache-2.0
//
// Both ends of an exchange with adversarial timing: each call first fails a
// random number of times with DEADLINE_EXCEEDED, or waits for a random time,
// and only then reaches the wrapped exchange. The draws are a pure function of
// seed and call, so a failure can be reproduced. Data is never changed: a run
// in EXACT must not notice.
//
// Owner: the test; the wrapped exchange outlives it. Thread safety: as the
// wrapped exchange.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "exchange/exchange.h"

namespace gandem::testing {

struct DelayOptions {
  uint64_t seed = 1;
  // Maximum number of refusals per call.
  int64_t max_refusals = 3;
  // Maximum wait of a call that is passed on, within its deadline; zero: no
  // wait, for roles that share one thread.
  absl::Duration max_wait = absl::ZeroDuration();
};

std::unique_ptr<GeneratorExchange> DelayGenerator(GeneratorExchange* below,
                                                  const DelayOptions& options);
std::unique_ptr<DiscriminatorExchange> DelayDiscriminator(
    DiscriminatorExchange* below, const DelayOptions& options);

}  // namespace gandem::testing
