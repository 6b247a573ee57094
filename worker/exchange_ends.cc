// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange_ends.h"

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/rpc/socket_folder.h"
#include "common/status.h"
#include "exchange/discriminator_end.h"
#include "exchange/fleet_exchange.h"
#include "exchange/in_process_exchange.h"
#include "exchange/rpc/exchange_client.h"
#include "exchange/rpc/exchange_server.h"

namespace gandem {
namespace {

// A generator learns where the discriminators are only when all have joined,
// and Close may come before.
class GeneratorEnds : public ExchangeEnds {
 public:
  explicit GeneratorEnds(ExchangeOptions options)
      : options_(std::move(options)) {}

  std::string address() const override { return ""; }

  absl::Status Connect(const std::vector<std::string>& addresses) override {
    if (std::cmp_not_equal(addresses.size(), options_.num_discriminators)) {
      return absl::InternalError(
          absl::StrCat("addresses of ", addresses.size(),
                       " discriminator workers, the config has ",
                       options_.num_discriminators));
    }
    std::vector<std::unique_ptr<GeneratorExchange>> clients;
    for (const std::string& address : addresses) {
      GANDEM_ASSIGN_OR_RETURN(
          clients.emplace_back(),
          CreateExchangeClient({.address = address, .exchange = options_}));
    }
    absl::MutexLock lock(&mu_);
    client_ = clients.size() == 1
                  ? std::move(clients.front())
                  : CreateFleetExchange(options_, std::move(clients));
    if (!closed_.ok()) client_->Close(closed_);
    return absl::OkStatus();
  }

  GeneratorExchange* generator() override {
    absl::MutexLock lock(&mu_);
    return client_.get();
  }
  DiscriminatorExchange* discriminator() override { return nullptr; }

  void Close(const absl::Status& reason) override {
    absl::MutexLock lock(&mu_);
    if (closed_.ok()) closed_ = reason;
    if (client_) client_->Close(reason);
  }

 private:
  const ExchangeOptions options_;
  absl::Mutex mu_;
  std::unique_ptr<GeneratorExchange> client_ ABSL_GUARDED_BY(mu_);
  absl::Status closed_ ABSL_GUARDED_BY(mu_);
};

class DiscriminatorEnds : public ExchangeEnds {
 public:
  static absl::StatusOr<std::unique_ptr<ExchangeEnds>> Make(
      const ExchangeOptions& options, const ExchangeListen& listen) {
    auto ends = std::make_unique<DiscriminatorEnds>();
    GANDEM_ASSIGN_OR_RETURN(ends->end_, DiscriminatorEnd::Create(options));
    std::string address = listen.address;
    if (address.empty()) {
      GANDEM_ASSIGN_OR_RETURN(ends->folder_, SocketFolder::Create());
      address = ends->folder_->AddressOf("exchange");
    }
    GANDEM_ASSIGN_OR_RETURN(
        ends->server_,
        ExchangeServer::Start({.address = address,
                               .insecure_network = listen.insecure_network,
                               .exchange = options},
                              ends->end_.get()));
    return ends;
  }

  std::string address() const override { return server_->address(); }
  absl::Status Connect(const std::vector<std::string>&) override {
    return absl::OkStatus();
  }
  GeneratorExchange* generator() override { return nullptr; }
  DiscriminatorExchange* discriminator() override { return end_.get(); }
  void Close(const absl::Status& reason) override { end_->Close(reason); }

 private:
  std::unique_ptr<SocketFolder> folder_;
  std::unique_ptr<DiscriminatorEnd> end_;
  std::unique_ptr<ExchangeServer> server_;  // ends before its port
};

class ColocatedEnds : public ExchangeEnds {
 public:
  static absl::StatusOr<std::unique_ptr<ExchangeEnds>> Make(
      const ExchangeOptions& options) {
    auto ends = std::make_unique<ColocatedEnds>();
    GANDEM_ASSIGN_OR_RETURN(ends->end_, DiscriminatorEnd::Create(options));
    GANDEM_ASSIGN_OR_RETURN(
        ends->generator_end_,
        CreateInProcessGenerator(options, ends->end_.get()));
    return ends;
  }

  std::string address() const override { return ""; }
  absl::Status Connect(const std::vector<std::string>&) override {
    return absl::OkStatus();
  }
  GeneratorExchange* generator() override { return generator_end_.get(); }
  DiscriminatorExchange* discriminator() override { return end_.get(); }
  void Close(const absl::Status& reason) override {
    end_->Close(reason);
    generator_end_->Close(reason);
  }

 private:
  std::unique_ptr<DiscriminatorEnd> end_;
  std::unique_ptr<GeneratorExchange> generator_end_;  // ends before its port
};

}  // namespace

absl::StatusOr<std::unique_ptr<ExchangeEnds>> MakeExchangeEnds(
    Role role, const ExchangeOptions& options, const ExchangeListen& listen) {
  switch (role) {
    case GENERATOR:
      return std::make_unique<GeneratorEnds>(options);
    case DISCRIMINATOR:
      return DiscriminatorEnds::Make(options, listen);
    case COLOCATED:
      return ColocatedEnds::Make(options);
    default:
      return absl::InvalidArgumentError("a worker needs a role");
  }
}

}  // namespace gandem
