// SPDX-License-Identifier: Apache-2.0
#include "exchange/rpc/client_streams.h"

#include <deque>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/monotonic_time.h"
#include "common/process/failpoint.h"
#include "common/rpc/grpc_status.h"
#include "common/status.h"

namespace gandem {

absl::Status ClientCore::Put(const ImageBatch& batch, absl::Time deadline) {
  absl::MutexLock lock(&mu_);
  const auto ready = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return failed_ || outbox_.HasRoom(batch);
  };
  if (!AwaitUntil(&mu_, absl::Condition(&ready), deadline)) {
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
  if (!AwaitUntil(&mu_, absl::Condition(&ready), deadline)) {
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

std::optional<FrameBody> ClientCore::NextImagesFrame() {
  absl::MutexLock lock(&mu_);
  const std::optional<ImageBatch> batch = outbox_.Next();
  if (batch.has_value()) return *batch;
  if (finish_ == Finish::kWanted && outbox_.empty()) {
    finish_ = Finish::kSent;
    return FinishedFrame{};
  }
  if (finish_ == Finish::kAnswered) {
    finish_ = Finish::kConfirming;
    return AckFrame{};
  }
  return std::nullopt;
}

absl::Status ClientCore::AcknowledgeImages(const AckFrame& ack) {
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
  // The discriminator has answered FINISHED, so it may have exited.
  if (finish_ == Finish::kAnswered || finish_ == Finish::kConfirming) {
    finish_ = Finish::kDone;
  }
}

void ClientCore::WaitForStreams(size_t ended) {
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
  return AwaitUntil(&mu_, absl::Condition(&failed_), deadline);
}

void ClientStream::Begin(grpc::GenericStub& stub,
                         std::shared_ptr<ClientStream> self) {
  stub.PrepareBidiStreamingCall(&context_,
                                absl::StrCat("/gandem.Exchange/", method_),
                                grpc::StubOptions(), this);
  // Removed in End(): pokes start reads and writes from any thread.
  AddHold();
  StartCall();
  Open(self);
}

void ClientStream::Cancel() {
  Stop(absl::CancelledError("the connection was given up"));
  context_.TryCancel();
}

absl::StatusOr<bool> ClientStream::Receive(const Frame& frame) {
  const FrameSender& sender = frame.sender;
  if (sender != server_) {
    return absl::FailedPreconditionError(absl::StrCat(
        "received a frame from ",
        sender.incarnation == server_.incarnation ? "" : "another process, ",
        "run epoch ", sender.run_epoch, ", rank ", sender.rank,
        "; expected the discriminator of run epoch ", server_.run_epoch,
        ", rank ", server_.rank));
  }
  core_->NoteProgress();
  return Handle(frame.body);
}

std::optional<Frame> ClientStream::NextFrame() {
  std::optional<FrameBody> body =
      std::exchange(has_opened_, true) ? Next() : FrameBody(Opening());
  if (!body.has_value()) return std::nullopt;
  return Frame{.sender = SenderOf(core_->options()), .body = *std::move(body)};
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
  absl::StatusOr<bool> Handle(const FrameBody& body) override {
    if (std::holds_alternative<FinishedFrame>(body)) {
      core().AcknowledgeFinish();
      GANDEM_FAILPOINT("exchange.finish_answered");
      return true;
    }
    const AckFrame* const ack = std::get_if<AckFrame>(&body);
    if (ack == nullptr) {
      return absl::InvalidArgumentError("expected an ACK frame");
    }
    GANDEM_RETURN_IF_ERROR(core().AcknowledgeImages(*ack));
    GANDEM_FAILPOINT("exchange.images_acknowledged");
    return true;
  }

  std::optional<FrameBody> Next() override {
    std::optional<FrameBody> body = core().NextImagesFrame();
    if (!body.has_value()) return body;
    if (std::holds_alternative<ImageBatch>(*body)) {
      GANDEM_FAILPOINT("exchange.send_images");
    } else if (std::holds_alternative<FinishedFrame>(*body)) {
      GANDEM_FAILPOINT("exchange.send_finish");
    }
    return body;
  }

  void Sent(const Frame& frame) override {
    if (std::holds_alternative<AckFrame>(frame.body)) {
      core().NoteFinishConfirmed();
    }
  }
};

// Sends only ACKs, in the order of the received frames.
class AckingClientStream : public ClientStream {
 public:
  using ClientStream::ClientStream;

 protected:
  void Acknowledge(const AckFrame& ack) { acks_.push_back(ack); }

 private:
  std::optional<FrameBody> Next() override {
    if (acks_.empty()) return std::nullopt;
    const AckFrame ack = acks_.front();
    acks_.pop_front();
    return ack;
  }

  std::deque<AckFrame> acks_;
};

class FeedbackClientStream : public AckingClientStream {
 public:
  using AckingClientStream::AckingClientStream;

 private:
  absl::StatusOr<bool> Handle(const FrameBody& body) override {
    const FeedbackBatch* const answer = std::get_if<FeedbackBatch>(&body);
    if (answer == nullptr) {
      return absl::InvalidArgumentError("expected a feedback frame");
    }
    GANDEM_RETURN_IF_ERROR(core().inbox().AddFeedback(*answer));
    Acknowledge({.round = answer->round,
                 .first_index = answer->first_index,
                 .count = answer->count});
    return true;
  }
};

class CriticClientStream : public AckingClientStream {
 public:
  using AckingClientStream::AckingClientStream;

 private:
  OpenFrame Opening() override {
    return {.version = core().inbox().newest_critic_version()};
  }

  absl::StatusOr<bool> Handle(const FrameBody& body) override {
    const CriticState* const critic = std::get_if<CriticState>(&body);
    if (critic == nullptr) {
      return absl::InvalidArgumentError("expected a critic frame");
    }
    if (!core().inbox().OfferCritic(*critic)) return false;
    Acknowledge({.version = critic->version});
    return true;
  }
};

}  // namespace

ClientStreams MakeClientStreams(const std::shared_ptr<ClientCore>& core,
                                const FrameSender& server) {
  const auto images =
      std::make_shared<ImagesClientStream>("PutImages", core, server);
  if (core->options().schedule.AnswersImages()) {
    return {images,
            std::make_shared<FeedbackClientStream>("Feedback", core, server)};
  }
  return {images,
          std::make_shared<CriticClientStream>("FetchCritic", core, server)};
}

}  // namespace gandem
