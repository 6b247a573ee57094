// SPDX-License-Identifier: Apache-2.0
//
// A worker's part of the exchange in one run epoch: the generator's end, the
// discriminator's end with its server, or both in one process.
//
// Owner: WorkerEpoch. Thread safety: Close from any thread, all others from the
// compute thread.
// Errors: those of listening and of the options.
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
  // `listen`: a discriminator's address; empty: a new unix socket.
  static absl::StatusOr<std::unique_ptr<ExchangeEnds>> Create(
      Role role, const ExchangeOptions& options, const std::string& listen);
  ~ExchangeEnds();

  // Returns the discriminator's address for generators; empty for other roles.
  std::string address() const;
  // Called once, when all workers have joined and all discriminators listen.
  // Waits for an invisible unix socket until `deadline` or Close. Does not wait
  // for the answer of a visible one, because the exchange retries. `on_damage`:
  // see ExchangeClientOptions.
  //   FAILED_PRECONDITION  a socket is not reachable from this process
  absl::Status Connect(const std::vector<std::string>& discriminator_addresses,
                       absl::Time deadline,
                       const std::function<void()>& on_damage = {});

  // Called after Connect. Waits until each discriminator on the network has
  // answered this generator, so that messages pass in both directions.
  //   DEADLINE_EXCEEDED  names a discriminator without an answer, and the
  //                      reason
  absl::Status AwaitPeers(absl::Time deadline);

  // Null for other roles and before Connect.
  GeneratorExchange* generator();
  DiscriminatorExchange* discriminator() { return discriminator_.get(); }

  // Fails all waiting and later calls of the ends.
  void Close(const absl::Status& reason);

 private:
  ExchangeEnds(Role role, const ExchangeOptions& options);

  absl::Status AwaitSocket(const std::string& address, absl::Time deadline);
  void NoteAnswer(const std::string& address, const absl::Status& answer);

  // All members without a guard are immutable after Create.
  const Role role_;
  const ExchangeOptions options_;
  std::unique_ptr<SocketFolder> folder_;
  std::unique_ptr<DiscriminatorEnd> discriminator_;
  // Destroyed before discriminator_, which server_ and generator_ use.
  std::unique_ptr<ExchangeServer> server_;
  absl::Mutex mu_;
  std::set<std::string> unanswered_ ABSL_GUARDED_BY(mu_);  // addresses
  absl::Status failed_ ABSL_GUARDED_BY(mu_);               // of one exchange
  std::unique_ptr<GeneratorExchange> generator_ ABSL_GUARDED_BY(mu_);
  absl::Status closed_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
