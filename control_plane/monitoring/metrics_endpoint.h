// SPDX-License-Identifier: Apache-2.0
//
// Serves http://ADDRESS/metrics, where Prometheus reads a run. Shows numbers,
// names of hosts and the run's name to any client, without a token or a
// certificate, and accepts no input (docs/security.md). Therefore it listens on
// loopback unless the user gives another address.
//
// Owner: `gandem train`. Thread safety: any thread may add records. Scrapes run
// on threads of the endpoint and delay no other thread. Errors name the
// address:
//   INVALID_ARGUMENT  it is not an address
//   ALREADY_EXISTS  it is in use
//   the system's error  otherwise
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "proto/control.pb.h"
#include "proto/metrics.pb.h"

namespace gandem {

class MetricsEndpoint {
 public:
  struct Options {
    // HOST:PORT. Port 0: the system chooses. Uses the first address of HOST.
    std::string listen;   // required
    std::string run_dir;  // required
    // Returns the same status as `gandem status`. Called on any thread.
    std::function<StatusReply()> status;  // required
  };

  static absl::StatusOr<std::unique_ptr<MetricsEndpoint>> Start(
      Options options);
  MetricsEndpoint(const MetricsEndpoint&) = delete;
  MetricsEndpoint& operator=(const MetricsEndpoint&) = delete;
  // Waits for scrapes that use the status.
  ~MetricsEndpoint();

  // Returns the address, with the port that the system has chosen.
  const std::string& address() const { return address_; }

  void Add(const RoundMetrics& metrics);

 private:
  class Source;
  struct Server;
  MetricsEndpoint(std::shared_ptr<Source> source,
                  std::unique_ptr<Server> server, std::string address);

  const std::shared_ptr<Source> source_;
  const std::unique_ptr<Server> server_;
  const std::string address_;
};

}  // namespace gandem
