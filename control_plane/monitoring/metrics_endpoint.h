// SPDX-License-Identifier: Apache-2.0
//
// http://ADDRESS/metrics, where Prometheus reads a run. It tells numbers, names
// of hosts and the run's name to whoever connects, and takes nothing: neither
// token nor certificate is asked for (docs/security.md), so it listens on
// loopback unless its user gives another address.
//
// Owner: `gandem train`. Thread safety: any thread adds records; scrapes come
// from threads of its own, and hold nobody up.
// Errors: INVALID_ARGUMENT for an address that is none, ALREADY_EXISTS for one
// in use, else the system's. All name it.
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
    // HOST:PORT; port 0 lets the system choose. Of several addresses that
    // a name stands for it is the first.
    std::string listen;   // required
    std::string run_dir;  // required
    // How far the run is, as `gandem status` is told; any thread calls.
    std::function<StatusReply()> status;  // required
  };

  static absl::StatusOr<std::unique_ptr<MetricsEndpoint>> Start(
      Options options);
  MetricsEndpoint(const MetricsEndpoint&) = delete;
  MetricsEndpoint& operator=(const MetricsEndpoint&) = delete;
  // Returns when no scrape asks for the status any more.
  ~MetricsEndpoint();

  // With the port that the system has chosen.
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
