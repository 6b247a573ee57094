// SPDX-License-Identifier: Apache-2.0
//
// Creates gRPC channels and servers with size limits from the config, no HTTP
// proxy, quick reconnects and one server per port. Servers reject calls without
// the run's token before reading a message (guarded_calls.h).
//
// Owner: the caller. Thread safety: channels from any thread; a server is
// started and stopped by one thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/rpc/address.h"
#include "common/security/credentials.h"

namespace gandem {

// Converts a MonotonicNow() deadline for ClientContext::set_deadline and
// Server::Shutdown. They take a wall clock time, convert it to a monotonic time
// at once, and read times before 1970 as "never".
std::chrono::system_clock::time_point ToGrpcDeadline(absl::Time deadline);

struct RpcOptions {
  int64_t max_message_bytes = int64_t{64} << 20;  // 64 KiB to 2^31 - 1
  // Silence after which a TCP connection is closed, at least the heartbeat
  // timeout, because only heartbeats declare a worker dead.
  absl::Duration keepalive_timeout = absl::Minutes(2);  // 1 s to 1 h
  // Lets gRPC measure a unix socket's bandwidth with pings, which make large
  // messages faster but cost as much as small ones.
  bool probes_bandwidth = true;
  // Null: the credentials of the process.
  std::shared_ptr<const Credentials> credentials = nullptr;
};

// Returns a channel that connects on first use and reconnects after a loss.
//   INVALID_ARGUMENT     a bad address
//   FAILED_PRECONDITION  see CheckConnectAddress
//   INTERNAL             the process has no credentials
absl::StatusOr<std::shared_ptr<grpc::Channel>> CreateChannel(
    absl::string_view address, const RpcOptions& options);

class RpcServer {
 public:
  struct Options {
    std::string address;
    RpcOptions rpc = {};
    // Offers grpc.health.v1.Health, which reports SERVING while the process
    // answers. Its Check takes no token (guarded_calls.h).
    bool offers_health = false;
  };

  // `add_services` registers services, which must outlive the server.
  //   INVALID_ARGUMENT     a bad address
  //   FAILED_PRECONDITION  see CheckMayListen
  //   INTERNAL             the process has no credentials
  //   ALREADY_EXISTS       the port or socket is in use
  //   the system's error   the server cannot listen for another reason
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(
      const Options& options,
      absl::FunctionRef<void(grpc::ServerBuilder&)> add_services);
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;
  // Shuts down without waiting for calls.
  ~RpcServer();

  // Returns the address for peers, with the port that the system chose.
  std::string address() const { return ToString(address_); }

  // Refuses new calls, cancels calls at `deadline`, and awaits handlers.
  void Shutdown(absl::Time deadline);

 private:
  RpcServer(Address address, std::unique_ptr<grpc::Server> server);

  const Address address_;
  const std::unique_ptr<grpc::Server> server_;
};

}  // namespace gandem
