// SPDX-License-Identifier: Apache-2.0
#include "exchange/rpc/exchange_server.h"

#include <utility>

#include "common/rpc/grpc_status.h"
#include "common/status.h"
#include "common/wire_header.h"
#include "exchange/rpc/exchange_codec.h"
#include "exchange/rpc/server_streams.h"
#include "proto/exchange.grpc.pb.h"

namespace gandem {
namespace {

template <typename Base>
using RawStreams = Exchange::WithRawCallbackMethod_PutImages<
    Exchange::WithRawCallbackMethod_Feedback<
        Exchange::WithRawCallbackMethod_FetchCritic<Base>>>;

}  // namespace

class ExchangeServer::Service final
    : public RawStreams<Exchange::WithCallbackMethod_Hello<Exchange::Service>> {
 public:
  Service(const ExchangeOptions& options, DiscriminatorEnd* end)
      : context_(std::make_shared<ServerContext>(options, end)) {}

  const std::shared_ptr<ServerContext>& context() const { return context_; }

 private:
  grpc::ServerUnaryReactor* Hello(grpc::CallbackServerContext* call,
                                  const HelloRequest* request,
                                  HelloReply* reply) override {
    const ExchangeOptions& options = context_->options();
    reply->set_run_epoch(options.run_epoch);
    reply->set_incarnation(options.incarnation);
    reply->set_rank(options.rank);
    reply->set_crc32c(Crc32cOf(*reply));
    grpc::ServerUnaryReactor* const reactor = call->DefaultReactor();
    reactor->Finish(ToGrpcStatus(Greet(*request)));
    return reactor;
  }

  absl::Status Greet(const HelloRequest& request) {
    if (request.crc32c() != Crc32cOf(request)) {
      return DamagedMessage("Hello", "checksum of the request");
    }
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
