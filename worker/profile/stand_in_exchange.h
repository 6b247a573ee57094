// SPDX-License-Identifier: Apache-2.0
//
// Exchange whose other side needs no time, for measuring a role's own speed.
// Images, image gradients and critics are available immediately, and data
// handed over is dropped. Values are random but finite, in the run's format.
//
// Owner: the code that measures; outlives the role. Thread safety: one compute
// thread. Errors: those of the run's options; DEADLINE_EXCEEDED for a feedback
// request that is not due.
#pragma once

#include <memory>

#include "common/shared_bytes.h"
#include "exchange/exchange.h"
#include "exchange/exchange_options.h"

namespace gandem {

// Returns an exchange for a generator. `critic` contains the bytes of any
// discriminator version, needed only if generators judge.
std::unique_ptr<GeneratorExchange> StandInForDiscriminators(
    const ExchangeOptions& options, SharedBytes critic);

// Returns an exchange for a discriminator, with images of all rounds from a
// single generator that requests feedback according to the schedule.
std::unique_ptr<DiscriminatorExchange> StandInForGenerators(
    const ExchangeOptions& options);

}  // namespace gandem
