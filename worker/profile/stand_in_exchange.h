// SPDX-License-Identifier: Apache-2.0
//
// An exchange whose other side needs no time: each end of it stands in for the
// workers of the other role, so that a role's own speed can be measured.
// Images, image gradients and critics are there at once, and what is handed
// over disappears. Values are random but finite, of the format that the run
// has.
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

// Exchange for a generator. `critic` holds the bytes of any version of the
// discriminator, and is needed where generators judge by themselves.
std::unique_ptr<GeneratorExchange> StandInForDiscriminators(
    const ExchangeOptions& options, SharedBytes critic);

// Exchange for a discriminator: it gives images of all rounds, from a single
// generator, which requests feedback on the images that the schedule lets it
// have judged.
std::unique_ptr<DiscriminatorExchange> StandInForGenerators(
    const ExchangeOptions& options);

}  // namespace gandem
