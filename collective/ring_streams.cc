// SPDX-License-Identifier: Apache-2.0
#include "collective/ring_streams.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/process/failpoint.h"
#include "common/rpc/frame_stream.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/shared_slices.h"
#include "common/status.h"
#include "common/wire_header.h"

namespace gandem {

struct RingCodec {
  using Frame = RingFrame;
  static grpc::ByteBuffer Encode(const RingFrame& frame) {
    // An outgoing chunk has one piece.
    const std::vector<SharedBytes>& payload = frame.chunk.payload;
    grpc::ByteBuffer message =
        JoinSlices(EncodeRingHead(frame),
                   payload.empty() ? SharedBytes() : payload.front());
    DamageMessage("ring.encode_frame", message);
    return message;
  }
  static absl::StatusOr<RingFrame> Decode(const grpc::ByteBuffer& buffer,
                                          int64_t max_bytes) {
    GANDEM_ASSIGN_OR_RETURN(const std::vector<SharedBytes> pieces,
                            ShareSlices(buffer));
    return DecodeRingFrame(pieces, max_bytes);
  }
};

using ServerReactor =
    grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;
using ClientReactor =
    grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

// A peer's stream to this rank: OPEN, answered with ACCEPT, then chunks.
class IncomingStream : public FrameStream<ServerReactor, RingCodec> {
 public:
  explicit IncomingStream(std::shared_ptr<RingStreams> streams)
      : FrameStream(kMaxRingMessageBytes), streams_(std::move(streams)) {}

  void Begin(std::shared_ptr<IncomingStream> self) {
    streams_->Add(self);
    Open(self);
  }

 private:
  absl::StatusOr<bool> Receive(const RingFrame& frame) override {
    RingCore& core = streams_->core();
    if (!from_.has_value()) {
      GANDEM_ASSIGN_OR_RETURN(const bool admitted, core.Admit(frame));
      if (!admitted) return false;
      GANDEM_FAILPOINT("ring.admitted");
      from_ = frame.rank;
      core.NoteOpen(frame.rank, /*is_outgoing=*/false);
      accept_ = core.AcceptFrame(frame.rank);
      streams_->SetPeer(*from_, this);
      return true;
    }
    GANDEM_ASSIGN_OR_RETURN(const bool delivered, core.Deliver(*from_, frame));
    if (core.HasLeft(*from_)) Stop(absl::OkStatus());
    if (core.has_failed()) streams_->PokeAll();
    if (delivered && frame.kind == RingFrameKind::kChunk) {
      GANDEM_FAILPOINT("ring.received");
    }
    return delivered;
  }

  std::optional<RingFrame> NextFrame() override {
    return std::exchange(accept_, std::nullopt);
  }

  void End(const absl::Status& reason) override {
    if (from_.has_value()) {
      streams_->core().IncomingEnded(*from_, reason);
      streams_->PokeAll();
    }
    Finish(ToGrpcStatus(reason));
  }
  bool MayEndWhileWriting() const override { return false; }
  void OnDone() override {
    streams_->Remove(this);
    Release();
  }

  const std::shared_ptr<RingStreams> streams_;
  // Used only in the strand.
  std::optional<int> from_;  // set when admitted
  std::optional<RingFrame> accept_;
};

// This rank's stream to a peer: OPEN, then chunks once the peer has accepted.
class OutgoingStream : public FrameStream<ClientReactor, RingCodec> {
 public:
  OutgoingStream(std::shared_ptr<RingStreams> streams, int to,
                 const std::shared_ptr<grpc::Channel>& channel)
      : FrameStream(kMaxRingMessageBytes),
        streams_(std::move(streams)),
        to_(to),
        stub_(channel) {}

  void Begin(std::shared_ptr<OutgoingStream> self) {
    // The peer's server may start later than this rank.
    context_.set_wait_for_ready(true);
    stub_.PrepareBidiStreamingCall(&context_, "/gandem.Ring/Connect",
                                   grpc::StubOptions(), this);
    // Held until End(), because pokes start reads and writes from any thread.
    AddHold();
    StartCall();
    Open(self);
  }

  void Cancel() {
    Stop(absl::CancelledError("this rank has left"));
    context_.TryCancel();
  }

 private:
  absl::StatusOr<bool> Receive(const RingFrame& frame) override {
    GANDEM_RETURN_IF_ERROR(streams_->core().Accept(frame, to_));
    GANDEM_FAILPOINT("ring.accepted");
    streams_->core().NoteOpen(to_, /*is_outgoing=*/true);
    return true;
  }

  std::optional<RingFrame> NextFrame() override {
    if (!std::exchange(has_opened_, true)) {
      GANDEM_FAILPOINT("ring.before_open");
      return streams_->core().OpenFrame(to_);
    }
    std::optional<RingFrame> frame = streams_->core().NextFor(to_);
    if (frame.has_value() && frame->kind == RingFrameKind::kChunk) {
      GANDEM_FAILPOINT("ring.before_send");
    }
    return frame;
  }

  void End(const absl::Status& reason) override {
    // Recorded before the peer sees and reports the end of the call.
    if (MayBeDamage(reason)) {
      streams_->core().AnswerIsDamaged(to_, reason);
    } else {
      failure_ = reason;
    }
    if (!reason.ok()) context_.TryCancel();
    RemoveHold();
  }
  bool MayEndWhileWriting() const override { return true; }
  void OnDone(const grpc::Status& status) override {
    streams_->Remove(to_, this);
    streams_->core().OutgoingEnded(
        to_, failure_.ok() ? FromGrpcStatus(status) : failure_);
    streams_->PokeAll();
    Release();
  }

  const std::shared_ptr<RingStreams> streams_;
  const int to_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  bool has_opened_ = false;  // used only in the strand
  // Failure of this end; written before the call's hold is removed.
  absl::Status failure_;
};

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* RingStreams::Serve(
    const std::shared_ptr<RingStreams>& streams) {
  auto stream = std::make_shared<IncomingStream>(streams);
  IncomingStream* const reactor = stream.get();
  reactor->Begin(std::move(stream));
  return reactor;
}

void RingStreams::Begin(const std::shared_ptr<RingStreams>& streams, int to,
                        const std::shared_ptr<grpc::Channel>& channel) {
  auto stream = std::make_shared<OutgoingStream>(streams, to, channel);
  {
    absl::MutexLock lock(&streams->mu_);
    streams->outgoing_[to] = stream;
  }
  OutgoingStream* const reactor = stream.get();
  reactor->Begin(std::move(stream));
}

void RingStreams::PokeIncoming(int from) {
  const Incoming stream = [&] {
    absl::MutexLock lock(&mu_);
    const auto it = admitted_.find(from);
    return it == admitted_.end() ? nullptr : it->second;
  }();
  if (stream != nullptr) stream->Poke();
}

void RingStreams::PokeOutgoing(int to) {
  const Outgoing stream = [&] {
    absl::MutexLock lock(&mu_);
    const auto it = outgoing_.find(to);
    return it == outgoing_.end() ? nullptr : it->second;
  }();
  if (stream != nullptr) stream->Poke();
}

// Returns a copy, because streams are called without the lock: a call may end a
// stream, which removes itself from the map.
std::map<IncomingStream*, RingStreams::Incoming> RingStreams::AllIncoming() {
  absl::MutexLock lock(&mu_);
  return incoming_;
}

std::map<int, RingStreams::Outgoing> RingStreams::AllOutgoing() {
  absl::MutexLock lock(&mu_);
  return outgoing_;
}

void RingStreams::PokeAll() {
  for (const auto& [key, stream] : AllIncoming()) stream->Poke();
  for (const auto& [rank, stream] : AllOutgoing()) stream->Poke();
}

void RingStreams::StopIncoming() {
  for (const auto& [key, stream] : AllIncoming()) {
    stream->Stop(absl::UnavailableError("this rank has left"));
  }
}

void RingStreams::CancelOutgoing() {
  for (const auto& [rank, stream] : AllOutgoing()) stream->Cancel();
}

void RingStreams::Add(Incoming stream) {
  absl::MutexLock lock(&mu_);
  IncomingStream* const key = stream.get();
  incoming_[key] = std::move(stream);
}

void RingStreams::SetPeer(int from, IncomingStream* stream) {
  absl::MutexLock lock(&mu_);
  admitted_[from] = incoming_[stream];
}

void RingStreams::Remove(IncomingStream* stream) {
  absl::MutexLock lock(&mu_);
  std::erase_if(admitted_, [stream](const auto& entry) {
    return entry.second.get() == stream;
  });
  incoming_.erase(stream);
}

// The next attempt may have replaced the stream already.
void RingStreams::Remove(int to, OutgoingStream* stream) {
  absl::MutexLock lock(&mu_);
  const auto it = outgoing_.find(to);
  if (it != outgoing_.end() && it->second.get() == stream) outgoing_.erase(it);
}

}  // namespace gandem
