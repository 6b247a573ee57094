// SPDX-License-Identifier: Apache-2.0
//
// Where the Control service of a `gandem train` listens, and where others find
// that: run_dir/state/control.addr. What cleans /tmp may remove the socket
// under a running training; it is made again at the same path, where workers
// and `gandem status` look for it.
//
// Owner: `gandem train`. Thread safety: one thread.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/rpc/socket_folder.h"
#include "control_plane/commands/run_lock.h"
#include "control_plane/coordinator/control_service.h"

namespace gandem {

// The address that a `gandem train` has left in the folder, which may be gone.
//   NOT_FOUND ...  there is none.
absl::StatusOr<std::string> ReadControlAddress(const std::string& run_dir);

class ControlEndpoint {
 public:
  struct Options {
    std::string run_dir;      // required
    std::string listen = {};  // HOST:PORT; empty: a unix socket
    bool external = false;    // whose path stays the same for the next start
  };

  // `service` outlives this. Errors: those of RpcServer::Start, of a folder
  // that cannot be written, and INVALID_ARGUMENT for a path that is too long.
  static absl::StatusOr<std::unique_ptr<ControlEndpoint>> Open(
      const Options& options, ControlService* service);
  ControlEndpoint(const ControlEndpoint&) = delete;
  ControlEndpoint& operator=(const ControlEndpoint&) = delete;
  // Stops listening and removes control.addr.
  ~ControlEndpoint();

  const std::string& address() const { return address_; }

  // Makes again what was removed; true: something was. Errors: those of Open().
  absl::StatusOr<bool> Mend();

 private:
  ControlEndpoint(Options options, ControlService* service)
      : options_(std::move(options)), service_(service) {}
  absl::StatusOr<std::string> ChooseAddress();
  absl::Status Listen(const std::string& address);

  const Options options_;
  ControlService* const service_;
  std::string address_;
  std::string socket_path_;  // empty: TCP
  std::unique_ptr<SocketFolder> folder_;
  // The last one listens; connections that the others have taken still work.
  std::vector<std::unique_ptr<RpcServer>> servers_;
};

// Looks after what others may remove under a running training, who clean /tmp
// or mistake state/ for something else: socket, secrets and lock. Says which
// logs of workers are lost.
class RunFolderMender {
 public:
  // `lock` and `endpoint` outlive this.
  RunFolderMender(std::string run_dir, RunLock* lock, ControlEndpoint* endpoint)
      : run_dir_(std::move(run_dir)), lock_(lock), endpoint_(endpoint) {}

  // Does something every other second. Nothing, or what the user should know.
  std::vector<std::string> Tend(absl::Time now);

 private:
  // Names the logs that are gone since the last call.
  std::vector<std::string> LostLogs();

  const std::string run_dir_;
  RunLock* const lock_;
  ControlEndpoint* const endpoint_;
  absl::Time next_ = absl::InfinitePast();
  std::set<std::string> logs_ = {};
};

}  // namespace gandem
