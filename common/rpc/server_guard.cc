// SPDX-License-Identifier: Apache-2.0
#include "common/rpc/server_guard.h"

#include <grpc/grpc_security.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "common/security/refusals.h"
#include "common/security/token.h"

namespace gandem {
namespace {

using ::grpc::experimental::TlsCustomVerificationCheckRequest;

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
             std::shared_ptr<const Credentials> credentials)
      : address_(ToString(address)), credentials_(std::move(credentials)) {}

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
    NoteRefusal(absl::StrCat(
        check->address_, ": refused a call",
        path.empty() ? "" : absl::StrCat(" of ", FromOutside(path)), ": ",
        has_token ? "its token is not this run's" : "it shows no token"));
    done(call, nullptr, 0, nullptr, 0, GRPC_STATUS_UNAUTHENTICATED, kRefused);
  }

  const std::string address_;
  const std::shared_ptr<const Credentials> credentials_;
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

// gRPC asks it at the end of every handshake.
class ClientVerifier : public grpc::experimental::ExternalCertificateVerifier {
 public:
  ClientVerifier(const Address& address,
                 std::shared_ptr<const Certificates> certificates)
      : address_(ToString(address)), certificates_(std::move(certificates)) {}

  bool Verify(TlsCustomVerificationCheckRequest* request,
              std::function<void(grpc::Status)> /*callback*/,
              grpc::Status* status) override {
    const grpc::string_ref shown = request->peer_cert();
    const absl::Status good =
        certificates_->CheckClient({shown.data(), shown.size()}, absl::Now());
    if (!good.ok()) {
      NoteRefusal(
          absl::StrCat(address_, ": refused a connection: ", good.message()));
      *status = grpc::Status(grpc::StatusCode::UNAUTHENTICATED,
                             "certificate refused");
    }
    return true;  // done at once
  }
  void Cancel(TlsCustomVerificationCheckRequest*) override {}

 private:
  const std::string address_;
  const std::shared_ptr<const Certificates> certificates_;
};

// OpenSSL proves that the client holds the key of the certificate that it
// shows; the rest is ClientVerifier's, which can say, log and count why. That
// includes a client without any.
grpc_server_credentials* TlsCredentials(
    const Address& address,
    const std::shared_ptr<const Certificates>& certificates) {
  using grpc::experimental::ExternalCertificateVerifier;
  using grpc::experimental::StaticDataCertificateProvider;
  grpc::experimental::TlsServerCredentialsOptions options(
      std::make_shared<StaticDataCertificateProvider>(
          certificates->authority_pem(),
          std::vector<grpc::experimental::IdentityKeyCertPair>{
              {.private_key = certificates->key_pem(),
               .certificate_chain = certificates->certificate_pem()}}));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(
      GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_BUT_DONT_VERIFY);
  options.set_certificate_verifier(
      ExternalCertificateVerifier::Create<ClientVerifier>(address,
                                                          certificates));
  return grpc_tls_server_credentials_create(options.c_credentials_options());
}

}  // namespace

std::shared_ptr<grpc::ServerCredentials> GuardedServerCredentials(
    const Address& address, std::shared_ptr<const Credentials> credentials) {
  grpc_server_credentials* const core =
      credentials->certificates == nullptr || StaysOnThisHost(address)
          ? grpc_insecure_server_credentials_create()
          : TlsCredentials(address, credentials->certificates);
  return std::make_shared<GuardedCredentials>(
      core, std::make_unique<TokenCheck>(address, std::move(credentials)));
}

}  // namespace gandem
