// SPDX-License-Identifier: Apache-2.0
//
// gRPC channels and servers with our limits: message sizes from the config, no
// HTTP proxy, quick reconnects, one server per port. All calls show the token
// of the run, and servers refuse those that do not before they read a message
// (guarded_calls.h), whatever services they offer.
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

// A deadline of MonotonicNow() for ClientContext::set_deadline and
// Server::Shutdown, which take the wall clock's and turn it at once into one of
// a clock that does not step; and every time before 1970 for "never".
std::chrono::system_clock::time_point ToGrpcDeadline(absl::Time deadline);

struct RpcOptions {
  int64_t max_message_bytes = int64_t{64} << 20;  // 64 KiB to 2^31 - 1
  // How long a TCP peer may be silent before its connection is given up; at
  // least the heartbeat timeout, because only that declares a worker dead. A
  // unix socket needs no such guess.
  absl::Duration keepalive_timeout = absl::Minutes(2);  // 1 s to 1 h
  // Whether gRPC may measure the bandwidth of a Unix socket. It sends a ping
  // after a message, which costs as much as a small message and makes large
  // ones faster.
  bool probes_bandwidth = true;
  // Null: those of the process.
  std::shared_ptr<const Credentials> credentials = nullptr;
};

// Connects on first use, and again after a loss.
//   INVALID_ARGUMENT     a bad address.
//   FAILED_PRECONDITION  see CheckConnectAddress.
//   INTERNAL             the process has set no credentials.
absl::StatusOr<std::shared_ptr<grpc::Channel>> CreateChannel(
    absl::string_view address, const RpcOptions& options);

class RpcServer {
 public:
  struct Options {
    std::string address;
    RpcOptions rpc = {};
    // grpc.health.v1.Health, for those who watch the process: SERVING while it
    // answers. Its Check takes no token (guarded_calls.h).
    bool offers_health = false;
  };

  // `add_services` registers what the server offers; the services must outlive
  // it.
  //   INVALID_ARGUMENT     a bad address.
  //   FAILED_PRECONDITION  see CheckMayListen.
  //   INTERNAL             the process has set no credentials.
  //   ALREADY_EXISTS       the port or socket is in use.
  //   the system's error   any other reason why it cannot listen.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(
      const Options& options,
      absl::FunctionRef<void(grpc::ServerBuilder&)> add_services);
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;
  // Shutdown without waiting for calls.
  ~RpcServer();

  // Address for peers, with the port that the system chose.
  std::string address() const { return ToString(address_); }

  // Refuses new calls, cancels those that still run at `deadline` and returns
  // when their handlers have returned.
  void Shutdown(absl::Time deadline);

 private:
  RpcServer(Address address, std::unique_ptr<grpc::Server> server);

  const Address address_;
  const std::unique_ptr<grpc::Server> server_;
};

}  // namespace gandem
