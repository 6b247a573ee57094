// SPDX-License-Identifier: Apache-2.0
//
// The generator's end on the network. A thread keeps the connection: what is
// lost with it is sent again on the next one, for as long as it takes, because
// only the coordinator declares a worker dead. What a wrong bit may have caused
// (MayBeDamage) is tried once more, on a new connection. Errors that trying
// again cannot cure (a refused configuration or epoch) are sticky.
//
// Owner: the generator's run epoch. The destructor closes it and returns when
// its thread and all of its gRPC handlers have ended.
// Thread safety: as GeneratorExchange.
// Errors: exchange.h, and
//   ABORTED  the run has gone on without this process: a newer run epoch, or
//            another incarnation of one of the two. Register again.
// Up to one round of images waits here for the discriminator before PutImages
// waits. Nothing may be put after Finish.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exchange/exchange.h"
#include "exchange/exchange_options.h"

namespace gandem {

struct ExchangeClientOptions {
  std::string address;  // of the discriminator's ExchangeServer
  ExchangeOptions exchange = {};
  // Hears of each message that arrived damaged, there or here; may be empty.
  // From a thread of the client.
  std::function<void()> on_damage = {};
  // Hears OK when the discriminator has answered on a new connection: messages
  // pass in both directions. And hears the failure that ends the exchange. May
  // be empty. From a thread of the client.
  std::function<void(const absl::Status&)> on_answer = {};
};

// Connects in the background. Errors: CreateChannel's.
absl::StatusOr<std::unique_ptr<GeneratorExchange>> CreateExchangeClient(
    const ExchangeClientOptions& options);

}  // namespace gandem
