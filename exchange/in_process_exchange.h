// SPDX-License-Identifier: Apache-2.0
//
// The generator's end when both roles share a process (colocated mode): the
// encoded bytes are shared with the discriminator's end and never copied. There
// is no thread: whoever calls moves what can be moved, so one thread can call
// both ends in turn with deadlines in the past.
//
// Owner: the colocated worker; ends before the end it was made with.
// Thread safety: as GeneratorExchange; the discriminator may be on another
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
