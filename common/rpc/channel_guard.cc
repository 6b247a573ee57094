// SPDX-License-Identifier: Apache-2.0
#include "common/rpc/channel_guard.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/support/client_interceptor.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/rpc/server_guard.h"
#include "common/security/refusals.h"

namespace gandem {
namespace {

using ::grpc::experimental::ClientInterceptorFactoryInterface;
using ::grpc::experimental::InterceptionHookPoints;
using ::grpc::experimental::TlsCustomVerificationCheckRequest;

// Adds the token to the metadata of one call. gRPC has call credentials for
// this, but not on plain connections.
class ShowToken : public grpc::experimental::Interceptor {
 public:
  explicit ShowToken(std::shared_ptr<const Credentials> credentials)
      : credentials_(std::move(credentials)) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* batch) override {
    if (batch->QueryInterceptionHookPoint(
            InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      batch->GetSendInitialMetadata()->insert({kTokenKey, credentials_->token});
    }
    batch->Proceed();
  }

 private:
  const std::shared_ptr<const Credentials> credentials_;
};

class ShowTokenFactory : public ClientInterceptorFactoryInterface {
 public:
  explicit ShowTokenFactory(std::shared_ptr<const Credentials> credentials)
      : credentials_(std::move(credentials)) {}

  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo*) override {
    return new ShowToken(credentials_);  // gRPC takes it
  }

 private:
  const std::shared_ptr<const Credentials> credentials_;
};

class ServerVerifier : public grpc::experimental::ExternalCertificateVerifier {
 public:
  ServerVerifier(Address address,
                 std::shared_ptr<const Certificates> certificates)
      : address_(std::move(address)), certificates_(std::move(certificates)) {}

  bool Verify(TlsCustomVerificationCheckRequest* request,
              std::function<void(grpc::Status)> /*callback*/,
              grpc::Status* status) override {
    const grpc::string_ref shown = request->peer_cert();
    const absl::Status good = certificates_->CheckServer(
        {shown.data(), shown.size()}, address_.host, absl::Now());
    if (!good.ok()) {
      NoteRefusal(absl::StrCat("refused the server at ", ToString(address_),
                               ": ", good.message()));
      *status = grpc::Status(grpc::StatusCode::UNAUTHENTICATED,
                             std::string(good.message()));
    }
    return true;  // done at once
  }
  void Cancel(TlsCustomVerificationCheckRequest*) override {}

 private:
  const Address address_;
  const std::shared_ptr<const Certificates> certificates_;
};

// As in server_guard.cc: OpenSSL proves that the server holds the key, the rest
// is ServerVerifier's.
std::shared_ptr<grpc::ChannelCredentials> TlsChannel(
    const Address& address,
    const std::shared_ptr<const Certificates>& certificates) {
  using grpc::experimental::ExternalCertificateVerifier;
  using grpc::experimental::StaticDataCertificateProvider;
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(
      std::make_shared<StaticDataCertificateProvider>(
          certificates->authority_pem(),
          std::vector<grpc::experimental::IdentityKeyCertPair>{
              {.private_key = certificates->key_pem(),
               .certificate_chain = certificates->certificate_pem()}}));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_verify_server_certs(false);
  options.set_check_call_host(false);
  options.set_certificate_verifier(
      ExternalCertificateVerifier::Create<ServerVerifier>(address,
                                                          certificates));
  return grpc::experimental::TlsCredentials(options);
}

}  // namespace

absl::Status CheckConnectAddress(const Address& address,
                                 const Credentials& credentials) {
  if (StaysOnThisHost(address) || credentials.insecure_network ||
      credentials.certificates != nullptr) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "will not connect to ", ToString(address),
      ": the token of the run and all data would travel unencrypted; pass "
      "--certificates DIR (`gandem certificates` makes them), or "
      "--insecure_network in a network that you trust"));
}

std::shared_ptr<grpc::Channel> GuardedChannel(
    const std::string& target, const Address& address,
    const grpc::ChannelArguments& arguments,
    std::shared_ptr<const Credentials> credentials) {
  const auto channel_credentials =
      credentials->certificates == nullptr || StaysOnThisHost(address)
          ? grpc::InsecureChannelCredentials()
          : TlsChannel(address, credentials->certificates);
  std::vector<std::unique_ptr<ClientInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(
      std::make_unique<ShowTokenFactory>(std::move(credentials)));
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      target, channel_credentials, arguments, std::move(interceptors));
}

}  // namespace gandem
