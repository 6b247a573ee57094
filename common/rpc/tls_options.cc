// SPDX-License-Identifier: Apache-2.0
#include "common/rpc/tls_options.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gandem {
namespace {

using ::grpc::experimental::ExternalCertificateVerifier;
using ::grpc::experimental::IdentityKeyCertPair;
using ::grpc::experimental::StaticDataCertificateProvider;
using ::grpc::experimental::TlsCustomVerificationCheckRequest;

class PeerVerifier : public ExternalCertificateVerifier {
 public:
  explicit PeerVerifier(PeerCheck check) : check_(std::move(check)) {}

  bool Verify(TlsCustomVerificationCheckRequest* request,
              std::function<void(grpc::Status)> /*callback*/,
              grpc::Status* status) override {
    const grpc::string_ref shown = request->peer_cert();
    const absl::Status good = check_({shown.data(), shown.size()});
    if (!good.ok()) {
      *status = grpc::Status(grpc::StatusCode::UNAUTHENTICATED,
                             std::string(good.message()));
    }
    return true;  // done at once
  }
  void Cancel(TlsCustomVerificationCheckRequest*) override {}

 private:
  const PeerCheck check_;
};

}  // namespace

void UseCertificates(const Certificates& certificates, PeerCheck check,
                     grpc::experimental::TlsCredentialsOptions& options) {
  options.set_certificate_provider(
      std::make_shared<StaticDataCertificateProvider>(
          certificates.authority_pem(),
          std::vector<IdentityKeyCertPair>{
              {.private_key = certificates.key_pem(),
               .certificate_chain = certificates.certificate_pem()}}));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_certificate_verifier(
      ExternalCertificateVerifier::Create<PeerVerifier>(std::move(check)));
}

}  // namespace gandem
