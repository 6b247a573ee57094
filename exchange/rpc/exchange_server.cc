// SPDX-License-Identifier: Apache-2.0
#include "exchange/rpc/exchange_server.h"

#include <utility>

#include "common/rpc/grpc_status.h"
#include "common/rpc/opening.h"
#include "common/rpc/unary_calls.h"
#include "common/status.h"
#include "exchange/rpc/server_streams.h"
#include "proto/exchange.grpc.pb.h"

namespace gandem {
namespace {

template <typename Base>
using RawStreams = Exchange::WithRawCallbackMethod_PutImages<
    Exchange::WithRawCallbackMethod_Feedback<
        Exchange::WithRawCallbackMethod_FetchCritic<Base>>>;

// What a generator says of itself.
absl::StatusOr<HelloRequest> HearHello(
    const grpc::CallbackServerContext& call) {
  GANDEM_ASSIGN_OR_RETURN(const grpc::ByteBuffer opening, HearOpening(call));
  grpc::Slice bytes;
  HelloRequest request;
  const bool is_there = opening.DumpToSingleSlice(&bytes).ok();
  if (is_there) {
    GANDEM_RETURN_IF_ERROR(CheckRequest(
        {reinterpret_cast<const char*>(bytes.begin()), bytes.size()}, call));
  }
  if (!is_there ||
      !request.ParseFromArray(bytes.begin(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError(
        "the opening of Hello is no HelloRequest");
  }
  return request;
}

// Answers at once, and reads nothing.
class HelloReactor : public grpc::ServerBidiReactor<HelloRequest, HelloReply> {
 public:
  HelloReactor(const grpc::Status& greeted, HelloReply reply)
      : reply_(std::move(reply)) {
    if (greeted.ok()) {
      StartWriteAndFinish(&reply_, grpc::WriteOptions(), grpc::Status::OK);
    } else {
      Finish(greeted);
    }
  }

 private:
  void OnDone() override { delete this; }

  const HelloReply reply_;
};

}  // namespace

class ExchangeServer::Service final
    : public RawStreams<Exchange::WithCallbackMethod_Hello<Exchange::Service>> {
 public:
  Service(const ExchangeOptions& options, DiscriminatorEnd* end)
      : context_(std::make_shared<ServerContext>(options, end)) {}

  const std::shared_ptr<ServerContext>& context() const { return context_; }

 private:
  grpc::ServerBidiReactor<HelloRequest, HelloReply>* Hello(
      grpc::CallbackServerContext* call) override {
    const ExchangeOptions& options = context_->options();
    HelloReply reply;
    reply.set_run_epoch(options.run_epoch);
    reply.set_incarnation(options.incarnation);
    reply.set_rank(options.rank);
    reply.set_fleet_size(1);
    const grpc::Status greeted = ToGrpcStatus(Greet(*call));
    SayAnswer(greeted, reply.SerializeAsString(), *call);
    return new HelloReactor(greeted, std::move(reply));
  }

  absl::Status Greet(const grpc::CallbackServerContext& call) {
    GANDEM_ASSIGN_OR_RETURN(const HelloRequest request, HearHello(call));
    return context_->peers().Greet({.run_epoch = request.run_epoch(),
                                    .incarnation = request.incarnation(),
                                    .rank = request.rank()},
                                   request.config_hash());
  }

  ServerReactor* PutImages(grpc::CallbackServerContext* call) override {
    return ServeStream(StreamKind::kImages, context_, call);
  }
  ServerReactor* Feedback(grpc::CallbackServerContext* call) override {
    return ServeStream(StreamKind::kFeedback, context_, call);
  }
  ServerReactor* FetchCritic(grpc::CallbackServerContext* call) override {
    return ServeStream(StreamKind::kCritic, context_, call);
  }

  const std::shared_ptr<ServerContext> context_;
};

ExchangeServer::ExchangeServer(DiscriminatorEnd* end,
                               std::unique_ptr<Service> service)
    : end_(end), service_(std::move(service)) {}

absl::StatusOr<std::unique_ptr<ExchangeServer>> ExchangeServer::Start(
    const Options& options, DiscriminatorEnd* end) {
  GANDEM_RETURN_IF_ERROR(CheckExchangeOptions(options.exchange));
  std::unique_ptr<ExchangeServer> result(new ExchangeServer(
      end, std::make_unique<Service>(options.exchange, end)));
  Service* const service = result->service_.get();
  GANDEM_ASSIGN_OR_RETURN(
      result->server_,
      RpcServer::Start(
          {.address = options.address,
           .rpc = {.max_message_bytes = options.exchange.max_message_bytes}},
          [service](grpc::ServerBuilder& builder) {
            builder.RegisterService(service);
          }));
  end->SetListener([context = service->context()] { context->PokeAll(); });
  return result;
}

ExchangeServer::~ExchangeServer() {
  end_->SetListener({});
  if (server_ != nullptr) server_->Shutdown(absl::InfinitePast());
}

std::string ExchangeServer::address() const { return server_->address(); }

}  // namespace gandem
