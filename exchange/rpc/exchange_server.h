// SPDX-License-Identifier: Apache-2.0
//
// The discriminator's end on the network: serves proto/exchange.proto over a
// DiscriminatorEnd. gRPC's threads only move bytes.
//
// Owner: the discriminator's run epoch, after the other end: ends before it.
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

  // Becomes the listener of `end`, which must outlive it. Serves when it
  // returns.
  // Errors: RpcServer::Start's.
  static absl::StatusOr<std::unique_ptr<ExchangeServer>> Start(
      const Options& options, DiscriminatorEnd* end);
  ExchangeServer(const ExchangeServer&) = delete;
  ExchangeServer& operator=(const ExchangeServer&) = delete;
  // Ends all streams (the generators see UNAVAILABLE and try again) and returns
  // when none of their handlers runs.
  ~ExchangeServer();

  // Where generators connect to, with the port that the system chose.
  std::string address() const;

 private:
  class Service;
  ExchangeServer(DiscriminatorEnd* end, std::unique_ptr<Service> service);

  DiscriminatorEnd* const end_;
  const std::unique_ptr<Service> service_;
  std::unique_ptr<RpcServer> server_;  // ends before the service
};

}  // namespace gandem
