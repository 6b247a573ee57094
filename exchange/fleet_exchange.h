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
#include "exchange/schedule.h"

namespace gandem {

// By rank: which of `num_discriminators` the generator `rank` of `size` sends
// images to, or takes critics from.
std::vector<bool> PartnersOf(const Schedule& schedule, int rank, int size,
                             int num_discriminators);

// `ends` are those towards the discriminators, by rank;
// options.num_discriminators of them. Null: none of the images and critics
// (PartnersOf) goes there.
std::unique_ptr<GeneratorExchange> CreateFleetExchange(
    const ExchangeOptions& options,
    std::vector<std::unique_ptr<GeneratorExchange>> ends);

}  // namespace gandem
