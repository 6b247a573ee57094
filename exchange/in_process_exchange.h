// SPDX-License-Identifier: Apache-2.0
//
// The generator's end if both roles share a process (colocated mode). The
// encoded bytes are shared with the discriminator's end and never copied. It
// has no thread: each caller transfers what can be transferred, so one thread
// can call both ends alternately with deadlines in the past.
//
// Owner: the colocated worker; destroyed before the discriminator's end.
// Thread safety: as GeneratorExchange; the discriminator may use another
// thread.
// Errors: exchange.h.
#pragma once

#include <memory>

#include "exchange/discriminator_end.h"
#include "exchange/exchange.h"
#include "exchange/exchange_options.h"

namespace gandem {

// Becomes the listener of `end`, which must outlive the result.
std::unique_ptr<GeneratorExchange> CreateInProcessGenerator(
    const ExchangeOptions& options, DiscriminatorEnd* end);

}  // namespace gandem
