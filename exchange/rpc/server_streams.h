// SPDX-License-Identifier: Apache-2.0
//
// Discriminator's side of the three streams of proto/exchange.proto.
//
// Owner: each stream owns itself; ExchangeServer's shutdown waits for all
// streams. Thread safety: any thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "exchange/discriminator_end.h"
#include "exchange/exchange_options.h"
#include "exchange/rpc/peer_table.h"

namespace gandem {

enum class StreamKind { kImages, kFeedback, kCritic };
using ServerReactor =
    grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

class ServerStream;

// State shared by all streams of a server.
class ServerContext {
 public:
  ServerContext(const ExchangeOptions& options, DiscriminatorEnd* discriminator)
      : options_(options), discriminator_(discriminator), peers_(options) {}

  const ExchangeOptions& options() const { return options_; }
  DiscriminatorEnd& discriminator() { return *discriminator_; }
  PeerTable& peers() { return peers_; }

  void Add(std::shared_ptr<ServerStream> stream);
  void Remove(ServerStream* stream);
  // Ends the previous stream of this kind and generator.
  void Replace(StreamKind kind, int rank, ServerStream* stream);
  // Wakes all streams after a change of any input or output.
  void PokeAll();

 private:
  const ExchangeOptions options_;
  DiscriminatorEnd* const discriminator_;
  PeerTable peers_;

  absl::Mutex mu_;
  std::map<ServerStream*, std::shared_ptr<ServerStream>> streams_
      ABSL_GUARDED_BY(mu_);
  std::map<std::pair<StreamKind, int>, ServerStream*> current_
      ABSL_GUARDED_BY(mu_);
};

ServerReactor* ServeStream(StreamKind kind,
                           std::shared_ptr<ServerContext> context,
                           grpc::CallbackServerContext* call);

}  // namespace gandem
