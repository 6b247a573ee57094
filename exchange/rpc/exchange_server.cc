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

// A generator needs four calls at once; a stranger gets no more than this many
// on one connection.
constexpr int kMaxCallsPerConnection = 32;

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
  const std::shared_ptr<ConnectionTable>& connections() const {
    return connections_;
  }

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
    GANDEM_RETURN_IF_ERROR(
        context_->peers().Greet({.run_epoch = request.run_epoch(),
                                 .incarnation = request.incarnation(),
                                 .rank = request.rank()},
                                request.config_hash()));
    connections_->NoteKnown(call.peer());
    return absl::OkStatus();
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
  const std::shared_ptr<ConnectionTable> connections_ =
      std::make_shared<ConnectionTable>();
};

// What is on its way at once: of each generator a message that arrives, two
// that wait and the one that is handled.
int64_t MemoryFor(const ExchangeOptions& options) {
  constexpr int64_t kForStrangers = int64_t{64} << 20;
  constexpr int64_t kMessages = 4;
  return kForStrangers +
         kMessages * options.num_generators * options.max_message_bytes;
}

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
           .rpc = {.max_message_bytes = options.exchange.max_message_bytes},
           .memory_bytes = MemoryFor(options.exchange),
           .connections = service->connections()},
          [service](grpc::ServerBuilder& builder) {
            builder.RegisterService(service);
            builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                                       kMaxCallsPerConnection);
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
