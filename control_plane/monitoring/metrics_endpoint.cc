// SPDX-License-Identifier: Apache-2.0
#include "control_plane/monitoring/metrics_endpoint.h"

#include <netdb.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>

#include <array>
#include <exception>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/process/machine.h"
#include "common/rpc/address.h"
#include "common/rpc/listen_check.h"
#include "common/status.h"
#include "control_plane/monitoring/run_metrics.h"

namespace gandem {
namespace {

// Number of server threads. A scrape is one request; further requests wait.
constexpr char kThreads[] = "2";
// Time after which the server drops an inactive client.
constexpr char kTimeoutMilliseconds[] = "10000";

// Resolves the host to its first address, because the server takes no names.
absl::StatusOr<Address> InNumbers(const Address& address) {
  addrinfo hints = {};
  hints.ai_flags = AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  int failed = getaddrinfo(address.host.c_str(), nullptr, &hints, &list);
  std::array<char, NI_MAXHOST> host = {};
  if (failed == 0) {
    const absl::Cleanup free_list = [list] { freeaddrinfo(list); };
    failed = getnameinfo(list->ai_addr, list->ai_addrlen, host.data(),
                         host.size(), nullptr, 0, NI_NUMERICHOST);
  }
  if (failed == 0) return Address{.host = host.data(), .port = address.port};
  return absl::InvalidArgumentError(
      absl::StrCat(CannotListen(address), ": ", gai_strerror(failed)));
}

}  // namespace

class MetricsEndpoint::Source final : public prometheus::Collectable {
 public:
  explicit Source(const Options& options)
      : status_(options.status), run_dir_(options.run_dir) {}

  void Add(const RoundMetrics& metrics) {
    absl::MutexLock lock(&mu_);
    totals_.Add(metrics);
  }

  std::vector<prometheus::MetricFamily> Collect() const override {
    RunSnapshot run = {.status = status_(),
                       .own_bytes = ResidentMemory().now_bytes};
    run.folder = ReadFolderFacts(run_dir_, run.status.last_checkpoint_step());
    {
      absl::MutexLock lock(&mu_);
      run.totals = totals_;
    }
    return RunMetrics(run);
  }

 private:
  const std::function<StatusReply()> status_;
  const std::string run_dir_;
  mutable absl::Mutex mu_;
  RunTotals totals_ ABSL_GUARDED_BY(mu_);
};

struct MetricsEndpoint::Server {
  explicit Server(const std::string& ports)
      : exposer({"listening_ports", ports, "num_threads", kThreads,
                 "request_timeout_ms", kTimeoutMilliseconds}) {}
  prometheus::Exposer exposer;
};

absl::StatusOr<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::Start(
    Options options) {
  GANDEM_ASSIGN_OR_RETURN(Address address, ParseAddress(options.listen));
  if (address.is_unix()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--metrics_listen '", options.listen,
                     "' is a unix socket; Prometheus reads HOST:PORT"));
  }
  // The name may resolve to ::1, which the example for Prometheus does not use.
  if (address.host == "localhost") address.host = "127.0.0.1";
  const absl::StatusOr<Address> numbers = InNumbers(address);
  GANDEM_RETURN_IF_ERROR(Annotate(numbers.status(), "--metrics_listen"));
  // The server's own error gives no reason.
  GANDEM_RETURN_IF_ERROR(Annotate(TryToListen(*numbers), "--metrics_listen"));
  std::unique_ptr<Server> server;
  try {
    server = std::make_unique<Server>(ToString(*numbers));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--metrics_listen ", options.listen, ": cannot listen there (",
        error.what(), "); give an address of this host, as in 127.0.0.1:9400"));
  }
  const std::vector<int> ports = server->exposer.GetListeningPorts();
  if (!ports.empty()) address.port = ports.front();
  auto source = std::make_shared<Source>(options);
  server->exposer.RegisterCollectable(source);
  return std::unique_ptr<MetricsEndpoint>(new MetricsEndpoint(
      std::move(source), std::move(server), ToString(address)));
}

MetricsEndpoint::MetricsEndpoint(std::shared_ptr<Source> source,
                                 std::unique_ptr<Server> server,
                                 std::string address)
    : source_(std::move(source)),
      server_(std::move(server)),
      address_(std::move(address)) {}

MetricsEndpoint::~MetricsEndpoint() = default;

void MetricsEndpoint::Add(const RoundMetrics& metrics) {
  source_->Add(metrics);
}

}  // namespace gandem
