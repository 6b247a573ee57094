// SPDX-License-Identifier: Apache-2.0
//
// A peer with the run's token that sends arbitrary bytes over gRPC to an
// ExchangeServer. Every wait ends after 30 s.
//
// Owner: the test. Thread safety: one thread.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/guarded_calls.h"
#include "exchange/rpc/exchange_codec.h"
#include "exchange/wire_codec.h"
#include "proto/exchange.grpc.pb.h"

namespace gandem::testing {

inline std::shared_ptr<grpc::Channel> RawChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return GuardedChannel(address, *ParseAddress(address), arguments,
                        ProcessCredentials());
}

class RawStream {
 public:
  // Opens the stream `name` ("PutImages", "Feedback" or "FetchCritic") with the
  // first message `opening`.
  RawStream(const std::shared_ptr<grpc::Channel>& channel,
            const std::string& name, const grpc::ByteBuffer& opening)
      : stub_(channel) {
    context_.set_deadline(std::chrono::system_clock::now() +
                          std::chrono::seconds(30));
    stream_ = stub_.PrepareCall(&context_, "/gandem.Exchange/" + name, &queue_);
    stream_->StartCall(this);
    Wait();
    Write(opening);
  }
  RawStream(const std::shared_ptr<grpc::Channel>& channel,
            const std::string& name, const Frame& opening)
      : RawStream(channel, name, ExchangeCodec::Encode(opening)) {}
  ~RawStream() {
    if (!finished_) {
      context_.TryCancel();
      (void)Finish();
    }
    queue_.Shutdown();
    Wait();
  }

  // Returns false if the stream has ended.
  bool Write(const grpc::ByteBuffer& message) {
    stream_->Write(message, this);
    return Wait();
  }
  bool Write(const std::string& bytes) {
    const grpc::Slice slice(bytes);
    return Write(grpc::ByteBuffer(&slice, 1));
  }
  bool Write(const Frame& frame) { return Write(ExchangeCodec::Encode(frame)); }

  absl::StatusOr<Frame> Read() {
    grpc::ByteBuffer message;
    stream_->Read(&message, this);
    if (!Wait()) return Finish();
    return ExchangeCodec::Decode(message, int64_t{1} << 30);
  }

  absl::Status Finish() {
    if (finished_) return absl::OkStatus();
    finished_ = true;
    grpc::Status status;
    stream_->Finish(&status, this);
    Wait();
    return FromGrpcStatus(status);
  }

 private:
  bool Wait() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  bool finished_ = false;
};

}  // namespace gandem::testing
