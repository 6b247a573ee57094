// SPDX-License-Identifier: Apache-2.0
#include "common/rpc/channel_guard.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/support/client_interceptor.h>

#include <atomic>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/process/failpoint.h"
#include "common/rpc/server_guard.h"
#include "common/rpc/shared_slices.h"
#include "common/rpc/tls_options.h"
#include "common/security/certificate_authority.h"
#include "common/security/refusals.h"

namespace gandem {
namespace {

using ::grpc::experimental::ClientInterceptorFactoryInterface;
using ::grpc::experimental::InterceptionHookPoints;

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

class DamageRequestsFactory : public ClientInterceptorFactoryInterface {
 public:
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo* call) override {
    return NewControlDamage(call->method(), [](grpc::ByteBuffer& message) {
      DamageMessage("control.encode_request", message);
    });
  }
};

std::shared_ptr<grpc::ChannelCredentials> TlsChannel(
    const Address& address,
    const std::shared_ptr<const Certificates>& certificates) {
  const auto check = [address, certificates](absl::string_view shown) {
    absl::Status good =
        certificates->CheckServer(shown, address.host, absl::Now());
    if (!good.ok()) {
      NoteRefusal(absl::StrCat("refused the server at ", ToString(address),
                               ": ", good.message()));
    }
    return good;
  };
  grpc::experimental::TlsChannelCredentialsOptions options;
  UseCertificates(*certificates, check, options);
  options.set_verify_server_certs(false);
  options.set_check_call_host(false);
  return grpc::experimental::TlsCredentials(options);
}

}  // namespace

absl::Status CheckConnectAddress(const Address& address,
                                 const Credentials& credentials) {
  if (StaysOnThisHost(address) || credentials.insecure_network ||
      credentials.certificates != nullptr) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("will not connect to ", ToString(address), ": ",
                   WhyUnencrypted(credentials)));
}

std::shared_ptr<grpc::Channel> GuardedChannel(
    const std::string& target, const Address& address,
    grpc::ChannelArguments arguments,
    std::shared_ptr<const Credentials> credentials) {
  const auto& certificates = credentials->certificates;
  const bool encrypts = certificates != nullptr && !StaysOnThisHost(address);
  const auto channel_credentials = encrypts
                                       ? TlsChannel(address, certificates)
                                       : grpc::InsecureChannelCredentials();
  if (encrypts && certificates->are_of_run()) {
    // Without this the client asks for a certificate of the host, and the
    // server logs that it has none.
    arguments.SetSslTargetNameOverride(kRunCertificateName);
  }
  std::vector<std::unique_ptr<ClientInterceptorFactoryInterface>> interceptors;
  if (internal::failpoint_armed.load(std::memory_order_relaxed)) {
    interceptors.push_back(std::make_unique<DamageRequestsFactory>());
  }
  interceptors.push_back(
      std::make_unique<ShowTokenFactory>(std::move(credentials)));
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      target, channel_credentials, arguments, std::move(interceptors));
}

}  // namespace gandem
