// SPDX-License-Identifier: Apache-2.0
//
// The exchange contract tests over gRPC, on a unix socket in one process.
#include <gtest/gtest.h>

#include "common/check.h"
#include "common/rpc/socket_folder.h"
#include "exchange/discriminator_end.h"
#include "exchange/rpc/exchange_client.h"
#include "exchange/rpc/exchange_server.h"
#include "tests/exchange/exchange_contract.h"

namespace gandem {
namespace {

using gandem::testing::ExchangeContract;

class RpcPair : public gandem::testing::ExchangePair {
 public:
  explicit RpcPair(const ExchangeOptions& options)
      : folder_(*SocketFolder::Create()),
        discriminator_(std::make_unique<DiscriminatorEnd>(options)) {
    const std::string address = folder_->AddressOf("exchange");
    server_ = *ExchangeServer::Start({.address = address, .exchange = options},
                                     discriminator_.get());
    generator_ =
        *CreateExchangeClient({.address = address, .exchange = options});
  }
  GeneratorExchange& generator() override { return *generator_; }
  DiscriminatorExchange& discriminator() override { return *discriminator_; }

 private:
  const std::unique_ptr<SocketFolder> folder_;
  const std::unique_ptr<DiscriminatorEnd> discriminator_;
  std::unique_ptr<ExchangeServer> server_;
  std::unique_ptr<GeneratorExchange> generator_;
};

INSTANTIATE_TEST_SUITE_P(Rpc, ExchangeContract,
                         ::testing::Values(gandem::testing::ExchangeKind{
                             .name = "UnixSocket",
                             .make =
                                 [](const ExchangeOptions& options) {
                                   return std::make_unique<RpcPair>(options);
                                 }}),
                         gandem::testing::KindName);

}  // namespace
}  // namespace gandem
