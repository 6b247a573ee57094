// SPDX-License-Identifier: Apache-2.0
//
// Generator's end over the network. A thread maintains the connection and
// resends lost messages on the next one, without a time limit, because only the
// coordinator declares a worker dead. Errors that a flipped bit may have caused
// (MayBeDamage) are retried once on a new connection. Errors that a retry
// cannot cure (a refused configuration or epoch) are sticky.
//
// Owner: the generator's run epoch. The destructor closes the connection and
// waits for its thread and all gRPC handlers.
// Thread safety: that of GeneratorExchange.
// Errors: those of exchange.h, and
//   ABORTED  the run has continued without this process: a newer run epoch, or
//            another incarnation of one of the two workers. Register again.
// Stores up to one round of images before PutImages waits. Do not call
// PutImages after Finish.
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
  // Called from any thread for each message damaged at either end.
  std::function<void()> on_damage = {};
  // Called from any thread with OK for the discriminator's first answer on a
  // connection, and with the failure that ends the exchange.
  std::function<void(const absl::Status&)> on_answer = {};
};

// Connects in the background. Errors: those of CreateChannel.
absl::StatusOr<std::unique_ptr<GeneratorExchange>> CreateExchangeClient(
    const ExchangeClientOptions& options);

}  // namespace gandem
