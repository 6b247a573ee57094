// SPDX-License-Identifier: Apache-2.0
//
// Server of the Control service in `gandem train`, and the file with its
// address, run_dir/state/control.addr.
//
// Owner: `gandem train`. Thread safety: one thread.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/results/run_folder.h"
#include "common/rpc/socket_folder.h"
#include "control_plane/coordinator/control_service.h"

namespace gandem {

class ControlEndpoint {
 public:
  struct Options {
    std::string run_dir;      // required
    std::string listen = {};  // HOST:PORT; empty: a unix socket
    bool external = false;    // keep the socket's path across restarts
  };

  // Starts the server and writes the file. `service` must outlive the endpoint.
  // Returns errors of RpcServer::Start and of writing the file, and
  //   INVALID_ARGUMENT  the path of the unix socket is too long
  static absl::StatusOr<std::unique_ptr<ControlEndpoint>> Open(
      const Options& options, ControlService* service);
  ControlEndpoint(const ControlEndpoint&) = delete;
  ControlEndpoint& operator=(const ControlEndpoint&) = delete;
  ~ControlEndpoint();

  std::string address() const { return server_->address(); }

 private:
  explicit ControlEndpoint(std::string address_file)
      : address_file_(std::move(address_file)) {}

  const std::string address_file_;
  std::unique_ptr<SocketFolder> folder_;  // null with --listen or --external
  std::unique_ptr<RpcServer> server_;
};

}  // namespace gandem
