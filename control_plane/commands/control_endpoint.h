// SPDX-License-Identifier: Apache-2.0
//
// The server of `gandem train`'s Control service, and the file with its
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

  // `service` must outlive the endpoint. Errors: those of RpcServer::Start and
  // of writing the file; INVALID_ARGUMENT for a path that is too long.
  static absl::StatusOr<std::unique_ptr<ControlEndpoint>> Open(
      const Options& options, ControlService* service);
  ControlEndpoint(const ControlEndpoint&) = delete;
  ControlEndpoint& operator=(const ControlEndpoint&) = delete;
  // Stops listening and removes control.addr.
  ~ControlEndpoint();

  std::string address() const { return server_->address(); }

 private:
  explicit ControlEndpoint(std::string address_file)
      : address_file_(std::move(address_file)) {}

  const std::string address_file_;
  std::unique_ptr<SocketFolder> folder_;  // or null
  std::unique_ptr<RpcServer> server_;
};

}  // namespace gandem
