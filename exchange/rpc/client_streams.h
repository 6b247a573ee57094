// SPDX-License-Identifier: Apache-2.0
//
// Generator's side of the three streams of proto/exchange.proto, and
// ClientCore, the state shared by the streams, the connecting thread and the
// compute thread. Each of these parties uses its own group of functions.
//
// Owner: a stream owns itself until its end; ClientCore is shared.
// Thread safety: any thread.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/rpc/frame_stream.h"
#include "exchange/exchange_options.h"
#include "exchange/generator_inbox.h"
#include "exchange/outbox.h"
#include "exchange/rpc/exchange_codec.h"
#include "exchange/wire_codec.h"

namespace gandem {

class ClientCore {
 public:
  explicit ClientCore(const ExchangeOptions& options)
      : options_(options), inbox_(options), outbox_(options.schedule) {}

  const ExchangeOptions& options() const { return options_; }
  GeneratorInbox& inbox() { return inbox_; }

  // For the compute thread. Errors: those of exchange.h.
  absl::Status Put(const ImageBatch& batch, absl::Time deadline);
  void WantFinish();
  absl::Status WaitForFinish(absl::Time deadline);

  // For the streams. NextImagesFrame returns frames in order.
  void BeginSession();
  std::optional<FrameBody> NextImagesFrame();
  absl::Status AcknowledgeImages(const AckFrame& ack);
  void AcknowledgeFinish();
  void NoteFinishConfirmed();
  // Records that the discriminator has answered on this connection.
  void NoteProgress();

  // For the connecting thread. `ended`: number of streams that have ended in
  // this session. The first reason is kept.
  void StreamEnded(absl::Status reason);
  void WaitForStreams(size_t ended);
  absl::Status session_status() const;
  bool has_progressed() const;
  bool IsFinished() const;

  // Wakes all waiters, for good. Streams must be cancelled separately.
  void Fail(absl::Status reason);
  bool WaitForFailure(absl::Time deadline) const;

 private:
  // The final handshake: FINISHED to the discriminator, FINISHED back, ACK. The
  // ACK keeps the discriminator until this side knows that it may exit.
  enum class Finish {
    kUnwanted,
    kWanted,
    kSent,
    kAnswered,
    kConfirming,
    kDone
  };

  const ExchangeOptions options_;
  GeneratorInbox inbox_;

  mutable absl::Mutex mu_;
  Outbox outbox_ ABSL_GUARDED_BY(mu_);
  Finish finish_ ABSL_GUARDED_BY(mu_) = Finish::kUnwanted;
  bool failed_ ABSL_GUARDED_BY(mu_) = false;  // inbox_ has the reason
  size_t ended_streams_ ABSL_GUARDED_BY(mu_) = 0;
  bool has_progressed_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status session_status_ ABSL_GUARDED_BY(mu_);  // OK: ended in order
};

class ClientStream
    : public FrameStream<
          grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
          ExchangeCodec> {
 public:
  // `method`: the stream's name. `server`: required sender of all frames.
  ClientStream(const char* method, std::shared_ptr<ClientCore> core,
               const FrameSender& server)
      : FrameStream(core->options().max_message_bytes),
        method_(method),
        core_(std::move(core)),
        server_(server) {}

  // Starts the call, whose end calls core.StreamEnded().
  void Begin(grpc::GenericStub& stub, std::shared_ptr<ClientStream> self);
  void Cancel();

 protected:
  virtual absl::StatusOr<bool> Handle(const FrameBody& body) = 0;
  virtual OpenFrame Opening() { return {}; }
  virtual std::optional<FrameBody> Next() = 0;

  ClientCore& core() { return *core_; }

 private:
  absl::StatusOr<bool> Receive(const Frame& frame) override;
  std::optional<Frame> NextFrame() override;
  void End(const absl::Status& reason) override;
  bool MayEndWhileWriting() const override { return true; }
  void OnDone(const grpc::Status& status) override;

  const char* const method_;
  const std::shared_ptr<ClientCore> core_;
  const FrameSender server_;
  grpc::ClientContext context_;
  bool has_opened_ = false;  // used in the strand only
  absl::Status failure_;     // written before the call's hold is removed
};

// Returns the unstarted streams for the run's feedback mode.
using ClientStreams = std::vector<std::shared_ptr<ClientStream>>;
ClientStreams MakeClientStreams(const std::shared_ptr<ClientCore>& core,
                                const FrameSender& server);

}  // namespace gandem
