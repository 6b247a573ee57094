// SPDX-License-Identifier: Apache-2.0
//
// Generator's end for colocated roles. Shares the encoded bytes without copies.
// Has no thread: each caller transfers what it can, so one thread can alternate
// between both ends with deadlines in the past.
//
// Owner: the colocated worker; destroyed before the discriminator's end.
// Thread safety: that of GeneratorExchange; the discriminator may use another
// thread. Errors: exchange.h.
#pragma once

#include <memory>

#include "exchange/discriminator_end.h"
#include "exchange/exchange.h"
#include "exchange/exchange_options.h"

namespace gandem {

// Registers as the listener of `end`, which must outlive the result.
std::unique_ptr<GeneratorExchange> CreateInProcessGenerator(
    const ExchangeOptions& options, DiscriminatorEnd* end);

}  // namespace gandem
