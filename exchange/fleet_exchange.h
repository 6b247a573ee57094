// SPDX-License-Identifier: Apache-2.0
//
// A generator's end towards a fleet of discriminators. Each image goes to the
// rank that trains on it or judges it, the feedback on a micro-batch is
// assembled from the ranks' answers, and critics come from one rank
// (exchange/schedule.h).
//
// Owner: the generator's run epoch. Thread safety and errors: exchange.h.
#pragma once

#include <memory>
#include <vector>

#include "exchange/exchange.h"
#include "exchange/exchange_options.h"
#include "exchange/schedule.h"

namespace gandem {

// By discriminator rank: whether generator `rank` of `size` sends it images or
// takes critics from it.
std::vector<bool> PartnersOf(const Schedule& schedule, int rank, int size,
                             int num_discriminators);

// `ends` has one end per discriminator rank; null if no images and critics are
// exchanged with that rank (PartnersOf).
std::unique_ptr<GeneratorExchange> CreateFleetExchange(
    const ExchangeOptions& options,
    std::vector<std::unique_ptr<GeneratorExchange>> ends);

}  // namespace gandem
