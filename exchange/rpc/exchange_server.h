// SPDX-License-Identifier: Apache-2.0
//
// The discriminator's end over the network: serves proto/exchange.proto for a
// DiscriminatorEnd. gRPC's threads only move bytes.
//
// Owner: the discriminator's run epoch; destroyed before the DiscriminatorEnd.
// Thread safety: any thread.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/rpc/channel.h"
#include "exchange/discriminator_end.h"
#include "exchange/exchange_options.h"

namespace gandem {

class ExchangeServer {
 public:
  struct Options {
    std::string address;  // "unix:/path" or "host:port"
    ExchangeOptions exchange = {};
  };

  // Serves when it returns. Becomes the listener of `end`, which must outlive
  // it. Errors: as RpcServer::Start.
  static absl::StatusOr<std::unique_ptr<ExchangeServer>> Start(
      const Options& options, DiscriminatorEnd* end);
  ExchangeServer(const ExchangeServer&) = delete;
  ExchangeServer& operator=(const ExchangeServer&) = delete;
  // Ends all streams and returns when no handler is running. The generators get
  // UNAVAILABLE and reconnect.
  ~ExchangeServer();

  // The address for generators, with the port that the system chose.
  std::string address() const;

 private:
  class Service;
  ExchangeServer(DiscriminatorEnd* end, std::unique_ptr<Service> service);

  DiscriminatorEnd* const end_;
  const std::unique_ptr<Service> service_;
  std::unique_ptr<RpcServer> server_;  // destroyed before the service
};

}  // namespace gandem
