// SPDX-License-Identifier: Apache-2.0
//
// A worker's part of the exchange for one run epoch: the generator's end, the
// discriminator's end with its server, or both in one process.
//
// Owner: WorkerEpoch. Thread safety: Close from any thread, the rest from the
// compute thread.
// Errors: of listening and of the options.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/rpc/socket_folder.h"
#include "exchange/discriminator_end.h"
#include "exchange/exchange.h"
#include "exchange/exchange_options.h"
#include "proto/metrics.pb.h"

namespace gandem {

class ExchangeServer;

class ExchangeEnds {
 public:
  // `listen` is where a discriminator's exchange does; empty: at a unix socket
  // of its own.
  static absl::StatusOr<std::unique_ptr<ExchangeEnds>> Create(
      Role role, const ExchangeOptions& options, const std::string& listen);
  ~ExchangeEnds();

  // Address at which generators find this discriminator; empty for other roles.
  std::string address() const;
  // Called once, when all workers have joined: a generator learns only then
  // where the discriminators are. They listen by then: a unix socket that is
  // not seen is looked for until `deadline`, or until Close. One that is seen
  // but does not answer may come back: the exchange tries it again.
  // `on_damage`: see ExchangeClientOptions.
  //   FAILED_PRECONDITION  it cannot be reached from here.
  absl::Status Connect(const std::vector<std::string>& discriminator_addresses,
                       absl::Time deadline,
                       const std::function<void()>& on_damage = {});

  // Called after Connect. Waits until each discriminator that listens on the
  // network has answered this generator: messages pass in both directions.
  //   DEADLINE_EXCEEDED  names one that has not, and why.
  absl::Status AwaitPeers(absl::Time deadline);

  // Null when this worker does not have the role, or before Connect.
  GeneratorExchange* generator();
  DiscriminatorExchange* discriminator() { return discriminator_.get(); }

  // Fails all waiting and later calls on the ends.
  void Close(const absl::Status& reason);

 private:
  ExchangeEnds(Role role, const ExchangeOptions& options);

  absl::Status AwaitSocket(const std::string& address, absl::Time deadline);
  void NoteAnswer(const std::string& address, const absl::Status& answer);

  // All but what `mu_` guards never changes after Create.
  const Role role_;
  const ExchangeOptions options_;
  std::unique_ptr<SocketFolder> folder_;
  std::unique_ptr<DiscriminatorEnd> discriminator_;
  // server_ and generator_ end before discriminator_, which they use.
  std::unique_ptr<ExchangeServer> server_;
  absl::Mutex mu_;
  std::set<std::string> unanswered_ ABSL_GUARDED_BY(mu_);  // addresses
  absl::Status failed_ ABSL_GUARDED_BY(mu_);               // of one exchange
  std::unique_ptr<GeneratorExchange> generator_ ABSL_GUARDED_BY(mu_);
  absl::Status closed_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
