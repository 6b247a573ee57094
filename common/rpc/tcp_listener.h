// SPDX-License-Identifier: Apache-2.0
//
// Accepts the TCP connections of a gRPC server, which has no limit of them: a
// ConnectionTable counts them, makes room, and ends those of strangers that
// talk too much. Without descriptors it gives up strangers' connections instead
// of looping.
//
// Owner: RpcServer. Thread safety: one thread calls.
// Errors: ALREADY_EXISTS for a port in use, INVALID_ARGUMENT for a name that is
// unknown, else the system's. All name the address.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/process/thread.h"
#include "common/rpc/address.h"
#include "common/rpc/connection_table.h"

namespace gandem {

class TcpListener {
 public:
  using Acceptor = grpc::experimental::ExternalConnectionAcceptor;

  // Listens on all addresses that the host's name stands for, of which one has
  // to work. Connections wait until Accept().
  static absl::StatusOr<std::unique_ptr<TcpListener>> Listen(
      const Address& address);
  TcpListener(const TcpListener&) = delete;
  TcpListener& operator=(const TcpListener&) = delete;
  // Stops listening. Connections stay.
  ~TcpListener();

  // That the system chose, if the address had none.
  int port() const { return port_; }

  // From now on connections go to `acceptor`, whose server runs until this
  // object is gone.
  absl::Status Accept(std::unique_ptr<Acceptor> acceptor,
                      std::shared_ptr<ConnectionTable> connections);

 private:
  TcpListener() = default;
  void Run();
  void AcceptOne(int listener);
  void LookAtStrangers();

  std::vector<int> sockets_;
  int port_ = 0;
  // Eventfds: it is time to end; there is a new connection.
  int stop_ = -1;
  int has_new_ = -1;
  std::unique_ptr<Acceptor> acceptor_;
  std::shared_ptr<ConnectionTable> connections_;
  Thread look_;  // these end first
  Thread accept_;
};

}  // namespace gandem
