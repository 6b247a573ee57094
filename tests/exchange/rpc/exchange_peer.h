// SPDX-License-Identifier: Apache-2.0
//
// Options shared by exchange_peer and the test that starts it.
//
// Thread safety: a pure function.
#pragma once

#include "exchange/exchange_options.h"
#include "tests/exchange/exchange_testing.h"

namespace gandem::testing {

inline ExchangeOptions PeerOptions() {
  return OptionsFor({.lag = 2,
                     .feedback = FeedbackMode::kImageGradient,
                     .generator_batch = 8,
                     .discriminator_batch = 8,
                     .generator_micro_batch = 4});
}

}  // namespace gandem::testing
