// SPDX-License-Identifier: Apache-2.0
#include "exchange/rpc/exchange_client.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "common/monotonic_time.h"
#include "common/process/failpoint.h"
#include "common/process/log.h"
#include "common/process/thread.h"
#include "common/rpc/channel.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/unary_calls.h"
#include "common/status.h"
#include "common/wire_header.h"
#include "exchange/rpc/client_streams.h"
#include "proto/exchange.grpc.pb.h"

namespace gandem {
namespace {

constexpr absl::Duration kHelloTimeout = absl::Seconds(10);
constexpr absl::Duration kFirstBackoff = absl::Milliseconds(20);
constexpr absl::Duration kLastBackoff = absl::Seconds(2);
// Consecutive damaged messages that are resent; one more is an error.
constexpr int kMostDamaged = 1;

// gRPC reports broken connections with several codes.
bool IsWorthRetrying(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:  // ended in order by the server
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kInternal:
      return true;
    default:
      return MayBeDamage(status);
  }
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> NewChannel(
    const std::string& address, const ExchangeOptions& options) {
  return CreateChannel(address,
                       {.max_message_bytes = options.max_message_bytes});
}

// Returns the error of a discriminator that refuses an old epoch.
absl::Status Superseded(absl::string_view message) {
  ErrorDetail detail;
  detail.set_reason("superseded");
  return WithErrorDetail(absl::FailedPreconditionError(message), detail);
}

// Converts an error that a retry cannot cure. Returns ABORTED for an old epoch
// or incarnation, because the worker may join the next epoch.
absl::Status FinalError(const absl::Status& status) {
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  const bool is_superseded =
      detail.has_value() &&
      (detail->reason() == "superseded" || detail->reason() == "wrong_epoch");
  return is_superseded ? absl::AbortedError(status.message()) : status;
}

class ExchangeClient : public GeneratorExchange {
 public:
  explicit ExchangeClient(const ExchangeClientOptions& options)
      : address_(options.address),
        on_damage_(options.on_damage),
        on_answer_(options.on_answer),
        core_(std::make_shared<ClientCore>(options.exchange)),
        thread_("exchange", [this] { KeepConnected(); }) {}

  ~ExchangeClient() override {
    Close(absl::CancelledError("the exchange client was destroyed"));
  }

  absl::Status PutImages(const ImageBatch& batch,
                         absl::Time deadline) override {
    GANDEM_RETURN_IF_ERROR(CheckImageBatch(core_->options(), batch));
    if (IsAnswered(batch.use)) core_->inbox().ExpectFeedback(batch);
    GANDEM_RETURN_IF_ERROR(core_->Put(batch, deadline));
    Poke();
    return absl::OkStatus();
  }

  absl::StatusOr<FeedbackBatch> TakeFeedback(int64_t round, int64_t first_index,
                                             absl::Time deadline) override {
    return core_->inbox().TakeFeedback(round, first_index, deadline);
  }

  absl::StatusOr<CriticState> TakeCritic(int64_t version,
                                         absl::Time deadline) override {
    return core_->inbox().TakeCritic(version, deadline, [this] { Poke(); });
  }

  absl::Status Finish(absl::Time deadline) override {
    core_->inbox().Drain();
    core_->WantFinish();
    Poke();
    return core_->WaitForFinish(deadline);
  }

  int64_t messages_damaged() const override { return messages_damaged_; }

  void Close(absl::Status reason) override {
    core_->Fail(std::move(reason));
    calls_.Cancel(/*for_good=*/true);
    for (const auto& stream : streams()) stream->Cancel();
  }

 private:
  // Makes the streams check for messages to send and for room.
  void Poke() {
    for (const auto& stream : streams()) stream->Poke();
  }

  void KeepConnected() {
    absl::Duration backoff = kFirstBackoff;
    bool lost = false;
    int damaged_in_a_row = 0;
    while (!core_->WaitForFailure(absl::InfinitePast())) {
      const absl::Status ended = Connect(lost);
      const bool is_damaged = MayBeDamage(ended);
      if (core_->has_progressed()) damaged_in_a_row = 0;
      if (is_damaged) {
        ++messages_damaged_;
        if (on_damage_) on_damage_();
        ++damaged_in_a_row;
      }
      if (!IsWorthRetrying(ended) || damaged_in_a_row > kMostDamaged) {
        const absl::Status failure =
            Annotate(FinalError(ended),
                     absl::StrCat("exchange with discriminator ", address_));
        core_->Fail(failure);
        if (on_answer_) on_answer_(failure);
        return;
      }
      if (core_->has_progressed()) backoff = kFirstBackoff;
      if (core_->WaitForFailure(MonotonicNow() + backoff)) return;
      if (!lost && !core_->IsFinished()) {
        GANDEM_LOG_WARN("lost the exchange with discriminator {}: {}; retrying",
                        address_, ended.ToString());
        lost = true;
      }
      backoff = std::min(2 * backoff, kLastBackoff);
    }
  }

  // Runs one connection from Hello to its end. Returns why it ended.
  absl::Status Connect(bool& lost) {
    // Uses a new channel; see MayBeDamage.
    GANDEM_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel,
                            NewChannel(address_, core_->options()));
    GANDEM_ASSIGN_OR_RETURN(const FrameSender server,
                            Greet(*Exchange::NewStub(channel)));
    GANDEM_FAILPOINT("exchange.greeted");
    if (server_.has_value() && server.incarnation != server_->incarnation) {
      return Superseded(
          "the process was replaced by another one, which does not know this "
          "run's images");
    }
    server_ = server;
    if (on_answer_) on_answer_(absl::OkStatus());
    if (lost) GANDEM_LOG_INFO("reconnected the exchange with {}", address_);
    lost = false;

    core_->BeginSession();
    const ClientStreams streams = MakeClientStreams(core_, server);
    grpc::GenericStub stub(channel);
    for (const auto& stream : streams) stream->Begin(stub, stream);
    SetStreams(streams);
    Poke();  // sends messages added before SetStreams
    // The end of one stream ends all. Close() may have missed the new streams.
    if (!core_->WaitForFailure(absl::InfinitePast())) core_->WaitForStreams(1);
    SetStreams({});
    for (const auto& stream : streams) stream->Cancel();
    core_->WaitForStreams(streams.size());
    return core_->session_status();
  }

  absl::StatusOr<FrameSender> Greet(Exchange::Stub& stub) {
    const ExchangeOptions& options = core_->options();
    HelloRequest request;
    request.set_config_hash(options.config_hash);
    request.set_run_epoch(options.run_epoch);
    request.set_incarnation(options.incarnation);
    request.set_rank(options.rank);
    request.set_crc32c(Crc32cOf(request));
    const absl::StatusOr<HelloReply> reply = calls_.Call(
        stub, &Exchange::Stub::Hello, request, MonotonicNow() + kHelloTimeout);
    // A refusal has an ErrorDetail; other errors may come from damage.
    if (!reply.ok() && !IsWorthRetrying(reply.status()) &&
        !GetErrorDetail(reply.status()).has_value()) {
      return DamagedMessage("Hello", reply.status().message());
    }
    GANDEM_RETURN_IF_ERROR(reply);
    if (reply->crc32c() != Crc32cOf(*reply)) {
      return DamagedMessage("Hello", "checksum of the answer");
    }
    if (reply->run_epoch() != options.run_epoch) {
      return Superseded(absl::StrCat("the discriminator is in run epoch ",
                                     reply->run_epoch(), ", this is ",
                                     options.run_epoch));
    }
    return FrameSender{.run_epoch = reply->run_epoch(),
                       .incarnation = reply->incarnation(),
                       .rank = reply->rank()};
  }

  ClientStreams streams() ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    return streams_;
  }
  void SetStreams(ClientStreams streams) ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    streams_ = std::move(streams);
  }

  const std::string address_;
  const std::function<void()> on_damage_;                     // may be empty
  const std::function<void(const absl::Status&)> on_answer_;  // may be empty
  const std::shared_ptr<ClientCore> core_;

  std::optional<FrameSender> server_;  // used by the thread only

  std::atomic<int64_t> messages_damaged_ = 0;

  UnaryCalls calls_{"the exchange was closed"};  // Hello
  absl::Mutex mu_;
  ClientStreams streams_ ABSL_GUARDED_BY(mu_);  // of the current connection

  Thread thread_;  // destroyed first
};

}  // namespace

absl::StatusOr<std::unique_ptr<GeneratorExchange>> CreateExchangeClient(
    const ExchangeClientOptions& options) {
  GANDEM_RETURN_IF_ERROR(NewChannel(options.address, options.exchange));
  return std::make_unique<ExchangeClient>(options);
}

}  // namespace gandem
