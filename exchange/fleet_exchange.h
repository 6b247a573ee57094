// SPDX-License-Identifier: Apache-2.0
//
// A generator's end towards a fleet of discriminators: each image goes to the
// rank that trains on it or judges it, feedback on a micro-batch is put
// together again, critics come from one rank (exchange/schedule.h says which).
//
// Owner: the generator's run epoch. Thread safety and errors: exchange.h.
#pragma once

#include <memory>
#include <vector>

#include "exchange/exchange.h"
#include "exchange/exchange_options.h"

namespace gandem {

// `ends` are those towards the discriminators, by rank;
// options.num_discriminators of them.
std::unique_ptr<GeneratorExchange> CreateFleetExchange(
    const ExchangeOptions& options,
    std::vector<std::unique_ptr<GeneratorExchange>> ends);

}  // namespace gandem
