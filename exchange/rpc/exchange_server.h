// SPDX-License-Identifier: Apache-2.0
//
// Discriminator's end over the network: serves proto/exchange.proto for a
// DiscriminatorEnd. The threads of gRPC only move bytes.
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

  // Starts serving and registers as the listener of `end`, which must outlive
  // the server. Errors: those of RpcServer::Start.
  static absl::StatusOr<std::unique_ptr<ExchangeServer>> Start(
      const Options& options, DiscriminatorEnd* end);
  ExchangeServer(const ExchangeServer&) = delete;
  ExchangeServer& operator=(const ExchangeServer&) = delete;
  // Ends all streams and waits for handlers. Generators reconnect.
  ~ExchangeServer();

  // Returns the address for generators, with the port chosen by the system.
  std::string address() const;

 private:
  class Service;
  ExchangeServer(DiscriminatorEnd* end, std::unique_ptr<Service> service);

  DiscriminatorEnd* const end_;
  const std::unique_ptr<Service> service_;
  std::unique_ptr<RpcServer> server_;  // destroyed before the service
};

}  // namespace gandem
