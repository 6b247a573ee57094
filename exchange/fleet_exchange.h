// SPDX-License-Identifier: Apache-2.0
//
// Connects a generator with a fleet of discriminators. Images go to the rank
// that trains on them or judges them, feedback on a micro-batch is joined from
// the ranks' answers, and critics come from one rank (exchange/schedule.h).
//
// Owner: the generator's run epoch. Thread safety and errors: exchange.h.
#pragma once

#include <memory>
#include <vector>

#include "exchange/exchange.h"
#include "exchange/exchange_options.h"
#include "exchange/schedule.h"

namespace gandem {

// Returns, by discriminator rank, whether generator `rank` of `size` sends
// images to it or takes critics from it.
std::vector<bool> PartnersOf(const Schedule& schedule, int rank, int size,
                             int num_discriminators);

// `ends` has one end per discriminator rank; null if PartnersOf is false.
std::unique_ptr<GeneratorExchange> CreateFleetExchange(
    const ExchangeOptions& options,
    std::vector<std::unique_ptr<GeneratorExchange>> ends);

}  // namespace gandem
