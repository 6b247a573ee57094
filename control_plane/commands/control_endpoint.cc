// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/control_endpoint.h"

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/rpc/address.h"
#include "common/status.h"

namespace gandem {

absl::StatusOr<std::unique_ptr<ControlEndpoint>> ControlEndpoint::Open(
    const Options& options, ControlService* service) {
  const RunFolder run(options.run_dir);
  std::unique_ptr<ControlEndpoint> endpoint(
      new ControlEndpoint(run.StatePath("control.addr")));
  std::string address = options.listen;
  if (address.empty() && options.external) {
    // Workers outlive this process and must find its successor.
    const std::string path = run.StatePath("control.sock");
    if (path.size() > kMaxUnixPath) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", path, "' is too long for a unix socket (at most ", kMaxUnixPath,
          " bytes): use --listen 127.0.0.1:PORT or a shorter --run_dir"));
    }
    address = "unix:" + path;
  } else if (address.empty()) {
    GANDEM_ASSIGN_OR_RETURN(endpoint->folder_, SocketFolder::Create());
    address = endpoint->folder_->AddressOf("control");
  }
  GANDEM_ASSIGN_OR_RETURN(endpoint->server_,
                          StartControlServer({.address = address}, service));
  GANDEM_RETURN_IF_ERROR(
      WriteFileDurably(endpoint->address_file_, endpoint->address() + "\n"));
  return endpoint;
}

// Removes the file first, so that no client calls a stopped server.
ControlEndpoint::~ControlEndpoint() { RemoveAll(address_file_).IgnoreError(); }

}  // namespace gandem
