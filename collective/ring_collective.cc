// SPDX-License-Identifier: Apache-2.0
#include "collective/ring_collective.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "collective/operation_runner.h"
#include "collective/ring_streams.h"
#include "collective/transport_collective.h"
#include "common/faults.h"
#include "common/monotonic_time.h"
#include "common/process/log.h"
#include "common/rpc/address.h"
#include "common/rpc/channel.h"
#include "common/rpc/listen_check.h"
#include "common/status.h"
#include "proto/collective.grpc.pb.h"

namespace gandem {
namespace {

constexpr absl::Duration kRetryInterval = absl::Milliseconds(100);
// Time limits for a leaving rank: for its peers to take the sent data
// (kFarewell), or to learn why it failed (kAbort).
constexpr absl::Duration kFarewell = absl::Seconds(5);
constexpr absl::Duration kAbort = absl::Seconds(1);
constexpr absl::Duration kShutdown = absl::Seconds(1);
// Short limit after a failure: streams of a lost rank do not end, and the
// remaining ranks wait for a new membership.
constexpr absl::Duration kShutdownAfterFailure = absl::Milliseconds(200);

class Service final
    : public Ring::WithRawCallbackMethod_Connect<Ring::Service> {
 public:
  explicit Service(std::shared_ptr<RingStreams> streams)
      : streams_(std::move(streams)) {}

 private:
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Connect(
      grpc::CallbackServerContext* /*call*/) override {
    return RingStreams::Serve(streams_);
  }

  const std::shared_ptr<RingStreams> streams_;
};

RpcOptions TheRpcOptions() {
  // Most messages on a Unix socket are small; large ones use shared memory.
  return {.max_message_bytes = kMaxRingMessageBytes, .probes_bandwidth = false};
}

// Serves both addresses with the same streams. May listen before the rank knows
// its peers: streams wait until Configure().
class Listener : public RingListener {
 public:
  Listener()
      : streams_(std::make_shared<RingStreams>()),
        local_service_(streams_),
        network_service_(streams_) {}

  absl::Status Listen(const Options& options) {
    GANDEM_ASSIGN_OR_RETURN(local_,
                            Listen(options.local_address, local_service_));
    GANDEM_ASSIGN_OR_RETURN(network_,
                            Listen(options.network_address, network_service_));
    if (local_ == nullptr && network_ == nullptr) {
      return absl::InvalidArgumentError(
          "ring: a rank needs a local_address or a network_address to listen "
          "on");
    }
    return absl::OkStatus();
  }

  std::string local_address() const override {
    return local_ == nullptr ? "" : local_->address();
  }
  std::string network_address() const override {
    return network_ == nullptr ? "" : network_->address();
  }
  const std::shared_ptr<RingStreams>& streams() const { return streams_; }

  void Shutdown(absl::Time deadline) {
    if (local_ != nullptr) local_->Shutdown(deadline);
    if (network_ != nullptr) network_->Shutdown(deadline);
  }

 private:
  absl::StatusOr<std::unique_ptr<RpcServer>> Listen(const std::string& address,
                                                    Service& service) {
    if (address.empty()) return nullptr;
    return RpcServer::Start({.address = address, .rpc = TheRpcOptions()},
                            [&](grpc::ServerBuilder& builder) {
                              builder.RegisterService(&service);
                            });
  }

  const std::shared_ptr<RingStreams> streams_;
  Service local_service_;
  Service network_service_;
  std::unique_ptr<RpcServer> local_;  // destroyed before the services
  std::unique_ptr<RpcServer> network_;
};

class RingTransport : public Transport {
 public:
  RingTransport(std::unique_ptr<Listener> listener,
                std::vector<std::shared_ptr<grpc::Channel>> channels,
                const RingIdentity& identity, const RingOptions& options)
      : listener_(std::move(listener)),
        streams_(listener_->streams()),
        channels_(std::move(channels)),
        rank_(identity.rank) {
    streams_->core().Configure(identity, options.on_damage, options.on_open);
    streams_->PokeAll();
  }

  ~RingTransport() override {
    RingCore& core = streams_->core();
    core.Leave();
    streams_->PokeAll();
    const bool has_failed = core.has_failed();
    core.WaitForFarewell(MonotonicNow() + (has_failed ? kAbort : kFarewell));
    streams_->CancelOutgoing();
    core.WaitForOutgoing();
    streams_->StopIncoming();
    listener_->Shutdown(MonotonicNow() +
                        (has_failed ? kShutdownAfterFailure : kShutdown));
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(channels_.size()); }

  // Restarts connections that failed because a peer started later or is still
  // in the previous membership, until all peers have accepted.
  absl::Status Connect() override {
    while (true) {
      for (const int to : streams_->core().TakeUnconnected()) {
        RingStreams::Begin(streams_, to, channels_[to]);
      }
      GANDEM_ASSIGN_OR_RETURN(
          const bool connected,
          streams_->core().WaitForPeers(MonotonicNow() + kRetryInterval));
      if (connected) return absl::OkStatus();
    }
  }

  PayloadRoom RoomFor(int to, size_t bytes) override {
    return streams_->core().RoomFor(to, bytes);
  }

  absl::Status Send(int to, Chunk chunk) override {
    GANDEM_RETURN_IF_ERROR(streams_->core().Send(to, std::move(chunk)));
    streams_->PokeOutgoing(to);
    return absl::OkStatus();
  }

  absl::StatusOr<Chunk> Receive(int from) override {
    absl::StatusOr<Chunk> chunk = streams_->core().Receive(from);
    streams_->PokeIncoming(from);
    return chunk;
  }

  void Close(absl::Status reason) override {
    streams_->core().Fail(std::move(reason));
    streams_->PokeAll();
  }

  std::string waits_for() const override {
    return streams_->core().waits_for();
  }
  int rank_waited_for() const override {
    return streams_->core().rank_waited_for();
  }

 private:
  const std::unique_ptr<Listener> listener_;
  const std::shared_ptr<RingStreams> streams_;
  const std::vector<std::shared_ptr<grpc::Channel>> channels_;  // by rank
  const int rank_;
};

// Returns the unix socket between ranks of one host, if both have one.
const std::string& AddressFor(const RingPeer& peer, const RingPeer& self) {
  const bool is_local = peer.host == self.host && !peer.local_address.empty();
  return is_local ? peer.local_address : peer.network_address;
}

// Peers listen before their addresses are published. If a unix socket is
// unreachable (another mount namespace or user), the network may work.
absl::StatusOr<std::string> ReachableAddress(const RingPeer& peer,
                                             const RingPeer& self) {
  const std::string& first = AddressFor(peer, self);
  GANDEM_ASSIGN_OR_RETURN(const Address parsed, ParseAddress(first));
  if (!parsed.is_unix() || peer.network_address.empty()) return first;
  const absl::Status answers = CheckUnixSocketAnswers(parsed);
  if (answers.ok()) return first;
  GANDEM_LOG_WARN("{}: using {}", answers, peer.network_address);
  return peer.network_address;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RingListener>> RingListener::Start(
    const Options& options) {
  auto listener = std::make_unique<Listener>();
  GANDEM_RETURN_IF_ERROR(listener->Listen(options));
  return listener;
}

absl::StatusOr<std::unique_ptr<Collective>> CreateRing(
    std::unique_ptr<RingListener> listener, const RingOptions& options) {
  const int size = static_cast<int>(options.peers.size());
  Faults faults("ring");
  if (!faults.CheckRange("rank", options.rank, 0, size - 1)) {
    return faults.ToStatus();
  }
  const RingPeer& self = options.peers[options.rank];
  for (int rank = 0; rank < size; ++rank) {
    if (rank != options.rank && AddressFor(options.peers[rank], self).empty()) {
      faults.Add(absl::StrCat("rank ", rank, " has no address for rank ",
                              options.rank));
    }
  }
  if (!faults.empty()) return faults.ToStatus();

  RunnerOptions runner = {.chunk_bytes = options.chunk_bytes,
                          .on_damage = options.on_damage};
  RingIdentity identity = {.rank = options.rank,
                           .membership_epoch = options.membership_epoch,
                           .slot_bytes = options.chunk_bytes};
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (const RingPeer& peer : options.peers) runner.hosts.push_back(peer.host);
  identity.links = OperationRunner::LinksOf(runner, options.rank, size);
  for (int rank = 0; rank < size; ++rank) {
    const RingPeer& peer = options.peers[rank];
    identity.incarnations.push_back(peer.incarnation);
    identity.shares_memory.push_back(options.shares_memory &&
                                     peer.host == self.host);
    channels.emplace_back();
    if (!identity.LinksTo(rank)) continue;
    GANDEM_ASSIGN_OR_RETURN(const std::string address,
                            ReachableAddress(peer, self));
    GANDEM_ASSIGN_OR_RETURN(channels.back(),
                            CreateChannel(address, TheRpcOptions()));
  }
  std::unique_ptr<Listener> own(static_cast<Listener*>(listener.release()));
  return CreateTransportCollective(
      runner, std::make_unique<RingTransport>(
                  std::move(own), std::move(channels), identity, options));
}

}  // namespace gandem
