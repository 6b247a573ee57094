// SPDX-License-Identifier: Apache-2.0
//
// A worker's part of the exchange for one run epoch: the generator's end, the
// discriminator's end with its server, or both in one process.
//
// Owner: WorkerEpoch. Thread safety: Close from any thread, the rest from the
// compute thread.
// Errors: of listening and of the options.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exchange/exchange.h"
#include "exchange/exchange_options.h"
#include "proto/metrics.pb.h"

namespace gandem {

class ExchangeEnds {
 public:
  virtual ~ExchangeEnds() = default;

  // Where generators find this discriminator; empty for other roles.
  virtual std::string address() const = 0;
  // Called once, when all workers have joined.
  virtual absl::Status Connect(
      const std::vector<std::string>& discriminator_addresses) = 0;

  // Null when this worker does not have the role, or before Connect.
  virtual GeneratorExchange* generator() = 0;
  virtual DiscriminatorExchange* discriminator() = 0;

  // Fails all waiting and later calls on the ends.
  virtual void Close(const absl::Status& reason) = 0;
};

// Where a discriminator's exchange listens.
struct ExchangeListen {
  std::string address = {};       // empty: a unix socket of its own
  bool insecure_network = false;  // see CheckListenAddress
};

absl::StatusOr<std::unique_ptr<ExchangeEnds>> MakeExchangeEnds(
    Role role, const ExchangeOptions& options, const ExchangeListen& listen);

}  // namespace gandem
