// SPDX-License-Identifier: Apache-2.0
#include "common/rpc/server_guard.h"

#include <grpc/grpc_security.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "common/process/failpoint.h"
#include "common/rpc/shared_slices.h"
#include "common/rpc/tls_options.h"
#include "common/security/refusals.h"
#include "common/security/token.h"

namespace gandem {
namespace {

constexpr char kRefused[] =
    "the token of the run is missing or wrong; pass --token_file with "
    "RUN_DIR/state/token of this run";

absl::string_view View(const grpc_slice& slice) {
  return {reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)),
          GRPC_SLICE_LENGTH(slice)};
}

// Looks at the metadata of each call.
class TokenCheck {
 public:
  TokenCheck(const Address& address,
             std::shared_ptr<const Credentials> credentials, bool offers_health)
      : address_(ToString(address)),
        credentials_(std::move(credentials)),
        offers_health_(offers_health) {}

  // gRPC calls Process for each call, in its filter below all services: before
  // a handler is chosen and before a message is read. It owns `this`.
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
        // Consumed: handlers do not see it.
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
        path.empty() ? "" : absl::StrCat(" of ", FromOutside(path)), ": ",
        has_token ? "its token is not this run's" : "it shows no token"));
    done(call, nullptr, 0, nullptr, 0, GRPC_STATUS_UNAUTHENTICATED, kRefused);
  }

  const std::string address_;
  const std::shared_ptr<const Credentials> credentials_;
  const bool offers_health_;
};

// gRPC's own credentials for plain connections take no processor of metadata in
// C++, those of its C library do; and so there is one way for all.
class GuardedCredentials final : public grpc::ServerCredentials {
 public:
  // Takes `core` and `check` over.
  GuardedCredentials(grpc_server_credentials* core,
                     std::unique_ptr<TokenCheck> check)
      : core_(core) {
    grpc_server_credentials_set_auth_metadata_processor(
        core_, TokenCheck::Processor(std::move(check)));
  }
  GuardedCredentials(const GuardedCredentials&) = delete;
  GuardedCredentials& operator=(const GuardedCredentials&) = delete;
  ~GuardedCredentials() override { grpc_server_credentials_release(core_); }

  // Nobody replaces ours.
  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address,
                      grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), core_);
  }

  grpc_server_credentials* const core_;
};

class DamageRepliesFactory
    : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* call) override {
    return NewControlDamage(call->method(), [](grpc::ByteBuffer& message) {
      DamageMessage("control.encode_reply", message);
    });
  }
};

// A client without any certificate is PeerCheck's, too.
grpc_server_credentials* TlsCredentials(
    const Address& address,
    const std::shared_ptr<const Certificates>& certificates) {
  const auto check = [address = ToString(address),
                      certificates](absl::string_view shown) {
    const absl::Status good = certificates->CheckClient(shown, absl::Now());
    if (good.ok()) return good;
    NoteRefusal(
        absl::StrCat(address, ": refused a connection: ", good.message()));
    return absl::UnauthenticatedError("certificate refused");
  };
  grpc::experimental::TlsServerCredentialsOptions options(
      /*certificate_provider=*/nullptr);
  UseCertificates(*certificates, check, options);
  options.set_cert_request_type(
      GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_BUT_DONT_VERIFY);
  return grpc_tls_server_credentials_create(options.c_credentials_options());
}

}  // namespace

std::shared_ptr<grpc::ServerCredentials> GuardedServerCredentials(
    const Address& address, std::shared_ptr<const Credentials> credentials,
    bool offers_health) {
  grpc_server_credentials* const core =
      credentials->certificates == nullptr || StaysOnThisHost(address)
          ? grpc_insecure_server_credentials_create()
          : TlsCredentials(address, credentials->certificates);
  return std::make_shared<GuardedCredentials>(
      core, std::make_unique<TokenCheck>(address, std::move(credentials),
                                         offers_health));
}

std::vector<
    std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
ReplyDamage() {
  std::vector<
      std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
      factories;
  if (internal::failpoint_armed.load(std::memory_order_relaxed)) {
    factories.push_back(std::make_unique<DamageRepliesFactory>());
  }
  return factories;
}

}  // namespace gandem
