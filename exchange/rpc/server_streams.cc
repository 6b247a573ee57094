// SPDX-License-Identifier: Apache-2.0
#include "exchange/rpc/server_streams.h"

#include <deque>
#include <optional>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/process/failpoint.h"
#include "common/rpc/frame_stream.h"
#include "common/rpc/grpc_status.h"
#include "common/status.h"
#include "exchange/rpc/exchange_codec.h"

namespace gandem {

// Checks each frame's sender; subclasses handle the frames.
class ServerStream : public FrameStream<ServerReactor, ExchangeCodec> {
 public:
  ServerStream(StreamKind kind, std::shared_ptr<ServerContext> context,
               grpc::CallbackServerContext* call)
      : FrameStream(context->options().max_message_bytes),
        context_(std::move(context)),
        kind_(kind),
        call_(call) {}

  void Begin(std::shared_ptr<ServerStream> self) {
    context_->Add(self);
    Open(self);
  }

  // Ends a stream with a successor. A write to a dead peer may hang.
  void Supersede() {
    Stop(absl::AbortedError("a newer stream of this generator took over"));
    absl::MutexLock lock(&call_mu_);
    if (call_ != nullptr) call_->TryCancel();
  }

 protected:
  // Handles a frame after OPEN, sent by rank().
  virtual absl::StatusOr<bool> Handle(const FrameBody& body) = 0;
  virtual absl::Status Opened(const OpenFrame&) { return absl::OkStatus(); }
  virtual std::optional<FrameBody> Next() = 0;

  DiscriminatorEnd& discriminator() { return context_->discriminator(); }
  int rank() const { return *rank_; }

 private:
  absl::StatusOr<bool> Receive(const Frame& frame) override {
    GANDEM_RETURN_IF_ERROR(context_->peers().Check(frame.sender));
    const OpenFrame* const open = std::get_if<OpenFrame>(&frame.body);
    if (!rank_.has_value()) {
      if (open == nullptr) {
        return absl::InvalidArgumentError(
            "a stream must begin with an OPEN frame");
      }
      rank_ = frame.sender.rank;
      context_->Replace(kind_, *rank_, this);
      GANDEM_RETURN_IF_ERROR(Opened(*open));
      return true;
    }
    if (frame.sender.rank != *rank_ || open != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("unexpected frame of generator ", frame.sender.rank,
                       " in a stream of generator ", *rank_));
    }
    absl::StatusOr<bool> handled = Handle(frame.body);
    // Hides the reason for closing this end; the generator reconnects.
    if (!handled.ok() && !discriminator().status().ok()) return Closing();
    return handled;
  }

  std::optional<Frame> NextFrame() override {
    if (!rank_.has_value()) return std::nullopt;
    if (!discriminator().status().ok()) {
      Stop(Closing());
      return std::nullopt;
    }
    std::optional<FrameBody> body = Next();
    if (!body.has_value()) return std::nullopt;
    return Frame{.sender = SenderOf(context_->options()),
                 .body = *std::move(body)};
  }

  static absl::Status Closing() {
    return absl::UnavailableError("the discriminator's exchange was closed");
  }

  void End(const absl::Status& reason) override {
    Finish(ToGrpcStatus(reason));
  }
  bool MayEndWhileWriting() const override { return false; }
  void OnDone() override {
    context_->Remove(this);
    {
      absl::MutexLock lock(&call_mu_);
      call_ = nullptr;
    }
    Release();
  }

  const std::shared_ptr<ServerContext> context_;
  const StreamKind kind_;
  std::optional<int> rank_;  // set by OPEN; used in the strand only
  absl::Mutex call_mu_;
  grpc::CallbackServerContext* call_ ABSL_GUARDED_BY(call_mu_);
};

namespace {

class ImagesServerStream : public ServerStream {
 public:
  using ServerStream::ServerStream;

 private:
  absl::StatusOr<bool> Handle(const FrameBody& body) override {
    if (std::holds_alternative<FinishedFrame>(body)) {
      GANDEM_RETURN_IF_ERROR(
          discriminator().FinishGenerator(rank(), /*is_confirmed=*/false));
      has_finished_ = true;
      answers_.push_back(FinishedFrame{});
      return true;
    }
    if (std::holds_alternative<AckFrame>(body) && has_finished_) {
      GANDEM_RETURN_IF_ERROR(
          discriminator().FinishGenerator(rank(), /*is_confirmed=*/true));
      return true;
    }
    const ImageBatch* const images = std::get_if<ImageBatch>(&body);
    if (images == nullptr) {
      return absl::InvalidArgumentError("expected a frame of images");
    }
    GANDEM_ASSIGN_OR_RETURN(const bool accepted,
                            discriminator().OfferImages(rank(), *images));
    if (!accepted) return false;
    answers_.push_back(AckFrame{.use = images->use,
                                .round = images->round,
                                .first_index = images->first_index,
                                .count = images->count});
    return true;
  }

  std::optional<FrameBody> Next() override {
    if (answers_.empty()) return std::nullopt;
    FrameBody answer = std::move(answers_.front());
    answers_.pop_front();
    return answer;
  }

  bool has_finished_ = false;
  std::deque<FrameBody> answers_;
};

class FeedbackServerStream : public ServerStream {
 public:
  using ServerStream::ServerStream;

 private:
  absl::StatusOr<bool> Handle(const FrameBody& body) override {
    const AckFrame* const ack = std::get_if<AckFrame>(&body);
    if (ack == nullptr) {
      return absl::InvalidArgumentError("expected an ACK frame");
    }
    discriminator().AcknowledgeAnswer(rank(), ack->round, ack->first_index);
    GANDEM_FAILPOINT("exchange.answer_acknowledged");
    return true;
  }

  std::optional<FrameBody> Next() override {
    const std::optional<FeedbackBook::Numbered> next =
        discriminator().NextAnswer(rank(), last_sent_);
    if (!next.has_value()) return std::nullopt;
    GANDEM_FAILPOINT("exchange.send_answer");
    last_sent_ = next->number;
    return next->answer;
  }

  int64_t last_sent_ = 0;
};

class CriticServerStream : public ServerStream {
 public:
  using ServerStream::ServerStream;

 private:
  absl::Status Opened(const OpenFrame& open) override {
    last_sent_ = open.version;
    return discriminator().OpenCritics(rank(), open.version);
  }

  absl::StatusOr<bool> Handle(const FrameBody& body) override {
    const AckFrame* const ack = std::get_if<AckFrame>(&body);
    if (ack == nullptr || ack->version > last_sent_) {
      return absl::InvalidArgumentError("expected the ACK of a critic");
    }
    discriminator().AcknowledgeCritic(rank(), ack->version);
    GANDEM_FAILPOINT("exchange.critic_acknowledged");
    return true;
  }

  std::optional<FrameBody> Next() override {
    const std::optional<CriticState> critic =
        discriminator().NextCritic(rank(), last_sent_);
    if (!critic.has_value()) return std::nullopt;
    GANDEM_FAILPOINT("exchange.send_critic");
    last_sent_ = critic->version;
    return *critic;
  }

  int64_t last_sent_ = -1;
};

}  // namespace

void ServerContext::Add(std::shared_ptr<ServerStream> stream) {
  absl::MutexLock lock(&mu_);
  ServerStream* const key = stream.get();
  streams_[key] = std::move(stream);
}

void ServerContext::Remove(ServerStream* stream) {
  absl::MutexLock lock(&mu_);
  std::erase_if(current_,
                [&](const auto& entry) { return entry.second == stream; });
  streams_.erase(stream);
}

void ServerContext::Replace(StreamKind kind, int rank, ServerStream* stream) {
  std::shared_ptr<ServerStream> before;
  {
    absl::MutexLock lock(&mu_);
    ServerStream*& current = current_[{kind, rank}];
    if (current != nullptr) before = streams_[current];
    current = stream;
  }
  if (before != nullptr) before->Supersede();
}

void ServerContext::PokeAll() {
  std::vector<std::shared_ptr<ServerStream>> streams;
  {
    absl::MutexLock lock(&mu_);
    for (const auto& [key, stream] : streams_) streams.push_back(stream);
  }
  for (const auto& stream : streams) stream->Poke();
}

ServerReactor* ServeStream(StreamKind kind,
                           std::shared_ptr<ServerContext> context,
                           grpc::CallbackServerContext* call) {
  std::shared_ptr<ServerStream> stream;
  switch (kind) {
    case StreamKind::kImages:
      stream = std::make_shared<ImagesServerStream>(kind, context, call);
      break;
    case StreamKind::kFeedback:
      stream = std::make_shared<FeedbackServerStream>(kind, context, call);
      break;
    case StreamKind::kCritic:
      stream = std::make_shared<CriticServerStream>(kind, context, call);
      break;
  }
  ServerStream* const reactor = stream.get();
  reactor->Begin(std::move(stream));
  return reactor;
}

}  // namespace gandem
