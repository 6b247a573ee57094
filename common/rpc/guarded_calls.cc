// SPDX-License-Identifier: Apache-2.0
#include "common/rpc/guarded_calls.h"

#include <grpc/grpc_security.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/client_interceptor.h>

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/files/printable.h"
#include "common/process/failpoint.h"
#include "common/rpc/shared_slices.h"
#include "common/security/certificate_authority.h"
#include "common/security/refusals.h"
#include "common/security/token.h"

namespace gandem {
namespace {

using ::grpc::experimental::ClientInterceptorFactoryInterface;
using ::grpc::experimental::ServerInterceptorFactoryInterface;

// Metadata key of the token.
constexpr char kTokenKey[] = "gandem-token";
constexpr char kHealthCheck[] = "/grpc.health.v1.Health/Check";
constexpr char kRefused[] =
    "the token of the run is missing or wrong; pass --token_file with "
    "RUN_DIR/state/token of this run";
constexpr size_t kMaxShownPath = 100;

// Adds the token to the metadata of a call. gRPC's call credentials would do
// this only on encrypted connections.
class ShowToken : public grpc::experimental::Interceptor {
 public:
  explicit ShowToken(std::shared_ptr<const Credentials> credentials)
      : credentials_(std::move(credentials)) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* batch) override {
    if (batch->QueryInterceptionHookPoint(
            grpc::experimental::InterceptionHookPoints::
                PRE_SEND_INITIAL_METADATA)) {
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
    return new ShowToken(credentials_);  // gRPC takes ownership
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

class DamageRepliesFactory : public ServerInterceptorFactoryInterface {
 public:
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* call) override {
    return NewControlDamage(call->method(), [](grpc::ByteBuffer& message) {
      DamageMessage("control.encode_reply", message);
    });
  }
};

bool IsFailpointArmed() {
  return internal::failpoint_armed.load(std::memory_order_relaxed);
}

absl::string_view View(const grpc_slice& slice) {
  return {reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)),
          GRPC_SLICE_LENGTH(slice)};
}

// Checks the token of each call.
class TokenCheck {
 public:
  TokenCheck(const Address& address,
             std::shared_ptr<const Credentials> credentials, bool offers_health)
      : address_(ToString(address)),
        credentials_(std::move(credentials)),
        offers_health_(offers_health) {}

  // Returns a processor that gRPC calls before it chooses a handler or reads a
  // message. The processor owns `check`.
  static grpc_auth_metadata_processor Processor(
      std::unique_ptr<TokenCheck> check) {
    return {.process = Process, .destroy = Destroy, .state = check.release()};
  }

 private:
  static void Destroy(void* self) { delete static_cast<TokenCheck*>(self); }

  static void Process(void* self, grpc_auth_context* /*peer*/,
                      const grpc_metadata* metadata, size_t size,
                      grpc_process_auth_metadata_done_cb done, void* call) {
    const auto* const check = static_cast<const TokenCheck*>(self);
    absl::string_view path;
    bool has_token = false;
    for (size_t i = 0; i < size; ++i) {
      const absl::string_view key = View(metadata[i].key);
      if (key == ":path") path = View(metadata[i].value);
      if (key != kTokenKey) continue;
      has_token = true;
      if (IsToken(check->credentials_->token, View(metadata[i].value))) {
        // Consumed, so that handlers do not see the token.
        done(call, &metadata[i], 1, nullptr, 0, GRPC_STATUS_OK, nullptr);
        return;
      }
    }
    if (check->offers_health_ && path == kHealthCheck && !has_token) {
      done(call, nullptr, 0, nullptr, 0, GRPC_STATUS_OK, nullptr);
      return;
    }
    NoteRefusal(absl::StrCat(
        check->address_, ": refused a call",
        path.empty() ? ""
                     : absl::StrCat(" of ", Printable(path, kMaxShownPath)),
        ": ", has_token ? "its token is not this run's" : "it shows no token"));
    done(call, nullptr, 0, nullptr, 0, GRPC_STATUS_UNAUTHENTICATED, kRefused);
  }

  const std::string address_;
  const std::shared_ptr<const Credentials> credentials_;
  const bool offers_health_;
};

// Server credentials from gRPC's C library: the C++ credentials of plain
// connections accept no metadata processor.
class GuardedCredentials final : public grpc::ServerCredentials {
 public:
  // Takes ownership of `core` and `check`.
  GuardedCredentials(grpc_server_credentials* core,
                     std::unique_ptr<TokenCheck> check)
      : core_(core) {
    grpc_server_credentials_set_auth_metadata_processor(
        core_, TokenCheck::Processor(std::move(check)));
  }
  GuardedCredentials(const GuardedCredentials&) = delete;
  GuardedCredentials& operator=(const GuardedCredentials&) = delete;
  ~GuardedCredentials() override { grpc_server_credentials_release(core_); }

  // Ignored, because the token check must never be replaced.
  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address,
                      grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), core_);
  }

  grpc_server_credentials* const core_;
};

grpc_server_credentials* TlsServerCredentials(const Certificates& own) {
  grpc_ssl_pem_key_cert_pair pair = {
      .private_key = own.key_pem().c_str(),
      .cert_chain = own.certificate_pem().c_str()};
  return grpc_ssl_server_credentials_create_ex(
      own.authority_pem().c_str(), &pair, 1,
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY, nullptr);
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
  std::shared_ptr<grpc::ChannelCredentials> connection =
      grpc::InsecureChannelCredentials();
  const Certificates* const own = credentials->certificates.get();
  if (own != nullptr && !StaysOnThisHost(address)) {
    connection =
        grpc::SslCredentials({.pem_root_certs = own->authority_pem(),
                              .pem_private_key = own->key_pem(),
                              .pem_cert_chain = own->certificate_pem()});
    // The run's certificate is shared by all hosts and names none of them.
    if (own->are_of_run()) {
      arguments.SetSslTargetNameOverride(kRunCertificateName);
    }
  }
  std::vector<std::unique_ptr<ClientInterceptorFactoryInterface>> interceptors;
  if (IsFailpointArmed()) {
    interceptors.push_back(std::make_unique<DamageRequestsFactory>());
  }
  interceptors.push_back(
      std::make_unique<ShowTokenFactory>(std::move(credentials)));
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      target, connection, arguments, std::move(interceptors));
}

std::shared_ptr<grpc::ServerCredentials> GuardedServerCredentials(
    const Address& address, std::shared_ptr<const Credentials> credentials,
    bool offers_health) {
  grpc_server_credentials* const core =
      credentials->certificates == nullptr || StaysOnThisHost(address)
          ? grpc_insecure_server_credentials_create()
          : TlsServerCredentials(*credentials->certificates);
  return std::make_shared<GuardedCredentials>(
      core, std::make_unique<TokenCheck>(address, std::move(credentials),
                                         offers_health));
}

std::vector<std::unique_ptr<ServerInterceptorFactoryInterface>> ReplyDamage() {
  std::vector<std::unique_ptr<ServerInterceptorFactoryInterface>> factories;
  if (IsFailpointArmed()) {
    factories.push_back(std::make_unique<DamageRepliesFactory>());
  }
  return factories;
}

}  // namespace gandem
