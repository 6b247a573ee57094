// SPDX-License-Identifier: Apache-2.0
#include "exchange/rpc/client_streams.h"

#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/process/failpoint.h"
#include "common/rpc/grpc_status.h"
#include "common/status.h"

namespace gandem {

absl::Status ClientCore::Put(const ImageBatch& batch, absl::Time deadline) {
  absl::MutexLock lock(&mu_);
  const auto ready = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return failed_ || outbox_.HasRoom(batch);
  };
  if (!mu_.AwaitWithDeadline(absl::Condition(&ready), deadline)) {
    return absl::DeadlineExceededError(
        "waiting for the discriminator to accept images");
  }
  GANDEM_RETURN_IF_ERROR(inbox_.status());
  outbox_.Add(batch);
  return absl::OkStatus();
}

void ClientCore::WantFinish() {
  absl::MutexLock lock(&mu_);
  if (finish_ == Finish::kUnwanted) finish_ = Finish::kWanted;
}

absl::Status ClientCore::WaitForFinish(absl::Time deadline) {
  absl::MutexLock lock(&mu_);
  const auto ready = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return failed_ || finish_ == Finish::kDone;
  };
  if (!mu_.AwaitWithDeadline(absl::Condition(&ready), deadline)) {
    return absl::DeadlineExceededError(
        "waiting for the discriminator to have all images");
  }
  return inbox_.status();
}

void ClientCore::BeginSession() {
  absl::MutexLock lock(&mu_);
  outbox_.Rewind();
  if (finish_ == Finish::kSent) finish_ = Finish::kWanted;
  ended_streams_ = 0;
  has_progressed_ = false;
  session_status_ = absl::OkStatus();
}

std::optional<Frame> ClientCore::NextImagesFrame() {
  absl::MutexLock lock(&mu_);
  const std::optional<ImageBatch> batch = outbox_.Next();
  if (batch.has_value()) return ToFrame(*batch);
  if (finish_ == Finish::kWanted && outbox_.empty()) {
    finish_ = Finish::kSent;
    return Frame{.kind = FrameKind::kFinished};
  }
  if (finish_ == Finish::kAnswered) {
    finish_ = Finish::kConfirming;
    return Frame{.kind = FrameKind::kAck};
  }
  return std::nullopt;
}

absl::Status ClientCore::AcknowledgeImages(const Frame& ack) {
  absl::MutexLock lock(&mu_);
  return outbox_.Acknowledge(ack.use, ack.round, ack.first_index);
}

void ClientCore::AcknowledgeFinish() {
  absl::MutexLock lock(&mu_);
  if (finish_ == Finish::kSent) finish_ = Finish::kAnswered;
}

void ClientCore::NoteFinishConfirmed() {
  absl::MutexLock lock(&mu_);
  if (finish_ == Finish::kConfirming) finish_ = Finish::kDone;
}

void ClientCore::NoteProgress() {
  absl::MutexLock lock(&mu_);
  has_progressed_ = true;
}

bool ClientCore::has_progressed() const {
  absl::MutexLock lock(&mu_);
  return has_progressed_;
}

void ClientCore::StreamEnded(absl::Status reason) {
  absl::MutexLock lock(&mu_);
  if (ended_streams_++ == 0) session_status_ = std::move(reason);
  // The discriminator knows, so it may have left.
  if (finish_ == Finish::kAnswered || finish_ == Finish::kConfirming) {
    finish_ = Finish::kDone;
  }
}

void ClientCore::WaitForStreams(int64_t ended) {
  absl::MutexLock lock(&mu_);
  const auto ready = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return ended_streams_ >= ended;
  };
  mu_.Await(absl::Condition(&ready));
}

absl::Status ClientCore::session_status() const {
  absl::MutexLock lock(&mu_);
  return session_status_;
}

bool ClientCore::IsFinished() const {
  absl::MutexLock lock(&mu_);
  return finish_ == Finish::kDone;
}

void ClientCore::Fail(absl::Status reason) {
  inbox_.Close(std::move(reason));
  absl::MutexLock lock(&mu_);
  failed_ = true;
}

bool ClientCore::WaitForFailure(absl::Time deadline) const {
  absl::MutexLock lock(&mu_);
  return mu_.AwaitWithDeadline(absl::Condition(&failed_), deadline);
}

void ClientStream::Begin(grpc::GenericStub& stub, const std::string& method,
                         std::shared_ptr<ClientStream> self) {
  stub.PrepareBidiStreamingCall(&context_, method, grpc::StubOptions(), this);
  // Until End(): pokes start reads and writes from any thread.
  AddHold();
  StartCall();
  Open(std::move(self));
}

void ClientStream::Cancel() {
  Stop(absl::CancelledError("the connection was given up"));
  context_.TryCancel();
}

absl::StatusOr<bool> ClientStream::Receive(const Frame& frame) {
  const ExchangeOptions& options = core_->options();
  if (frame.run_epoch != options.run_epoch ||
      frame.incarnation != server_.incarnation || frame.rank != server_.rank) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a frame of run epoch ", frame.run_epoch, ", incarnation ",
        frame.incarnation, ", rank ", frame.rank,
        " from a discriminator of run epoch ", options.run_epoch,
        ", incarnation ", server_.incarnation, ", rank ", server_.rank));
  }
  core_->NoteProgress();
  return Handle(frame);
}

std::optional<Frame> ClientStream::NextFrame() {
  std::optional<Frame> frame;
  if (!opened_) {
    frame = OpenFrame();
    opened_ = true;
  } else {
    frame = Next();
  }
  if (!frame.has_value()) return frame;
  const ExchangeOptions& options = core_->options();
  frame->run_epoch = options.run_epoch;
  frame->incarnation = options.incarnation;
  frame->rank = options.rank;
  return frame;
}

void ClientStream::End(const absl::Status& reason) {
  failure_ = reason;
  if (!reason.ok()) context_.TryCancel();
  RemoveHold();
}

void ClientStream::OnDone(const grpc::Status& status) {
  core_->StreamEnded(failure_.ok() ? FromGrpcStatus(status) : failure_);
  Release();
}

namespace {

class ImagesClientStream : public ClientStream {
 public:
  using ClientStream::ClientStream;

 private:
  absl::StatusOr<bool> Handle(const Frame& frame) override {
    if (frame.kind == FrameKind::kFinished) {
      core().AcknowledgeFinish();
      GANDEM_FAILPOINT("exchange.finish_answered");
      return true;
    }
    if (frame.kind != FrameKind::kAck) {
      return absl::InvalidArgumentError("a frame that is not an ACK");
    }
    GANDEM_RETURN_IF_ERROR(core().AcknowledgeImages(frame));
    GANDEM_FAILPOINT("exchange.images_acknowledged");
    return true;
  }

  std::optional<Frame> Next() override {
    std::optional<Frame> frame = core().NextImagesFrame();
    if (frame.has_value() && frame->kind == FrameKind::kImages) {
      GANDEM_FAILPOINT("exchange.send_images");
    } else if (frame.has_value() && frame->kind == FrameKind::kFinished) {
      GANDEM_FAILPOINT("exchange.send_finish");
    }
    return frame;
  }

  void Sent(FrameKind kind) override {
    if (kind == FrameKind::kAck) core().NoteFinishConfirmed();
  }
};

class FeedbackClientStream : public ClientStream {
 public:
  using ClientStream::ClientStream;

 private:
  absl::StatusOr<bool> Handle(const Frame& frame) override {
    if (frame.kind != FrameKind::kFeedback) {
      return absl::InvalidArgumentError("a frame that is not feedback");
    }
    GANDEM_RETURN_IF_ERROR(core().inbox().AddFeedback(ToFeedbackBatch(frame)));
    acks_.push_back({.kind = FrameKind::kAck,
                     .round = frame.round,
                     .first_index = frame.first_index,
                     .count = frame.count});
    return true;
  }

  std::optional<Frame> Next() override {
    if (acks_.empty()) return std::nullopt;
    Frame ack = std::move(acks_.front());
    acks_.pop_front();
    return ack;
  }

  std::deque<Frame> acks_;
};

class CriticClientStream : public ClientStream {
 public:
  using ClientStream::ClientStream;

 private:
  Frame OpenFrame() override {
    return {.kind = FrameKind::kOpen,
            .version = core().inbox().newest_critic_version()};
  }

  absl::StatusOr<bool> Handle(const Frame& frame) override {
    if (frame.kind != FrameKind::kCritic) {
      return absl::InvalidArgumentError("a frame that is not a critic");
    }
    if (!core().inbox().OfferCritic(ToCriticState(frame))) return false;
    acks_.push_back({.kind = FrameKind::kAck, .version = frame.version});
    return true;
  }

  std::optional<Frame> Next() override {
    if (acks_.empty()) return std::nullopt;
    Frame ack = std::move(acks_.front());
    acks_.pop_front();
    return ack;
  }

  std::deque<Frame> acks_;
};

}  // namespace

ClientStreams MakeClientStreams(const std::shared_ptr<ClientCore>& core,
                                ServerIdentity server) {
  ClientStreams streams;
  streams.images = std::make_shared<ImagesClientStream>(core, server);
  if (core->options().schedule.AnswersImages()) {
    streams.feedback = std::make_shared<FeedbackClientStream>(core, server);
  } else {
    streams.critic = std::make_shared<CriticClientStream>(core, server);
  }
  return streams;
}

}  // namespace gandem
