// SPDX-License-Identifier: Apache-2.0
#include "common/security/certificate_authority.h"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/x509v3.h>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status.h"

namespace gandem {
namespace {

// Longer than any run, so that certificates need no renewal.
constexpr absl::Duration kRunValidity = absl::Hours(24 * 365 * 20);
// Upper limit for clock differences between hosts.
constexpr absl::Duration kClockDifference = absl::Hours(24);

absl::Status OpensslFailed(absl::string_view what) {
  return absl::InternalError(absl::StrCat(what, ": ", OpensslError()));
}

// 127 bits: unique, and never negative.
bool SetRandomSerial(X509* certificate) {
  BIGNUM* const number = BN_new();
  const absl::Cleanup free_number = [number] { BN_free(number); };
  return number != nullptr &&
         BN_rand(number, 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) !=
             nullptr;
}

bool SetSubject(X509* certificate, const std::string& common_name) {
  return X509_NAME_add_entry_by_txt(
             X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1,
             -1, 0) == 1;
}

bool SetValidity(X509* certificate, Validity validity) {
  return ASN1_TIME_set(X509_getm_notBefore(certificate),
                       absl::ToTimeT(validity.from)) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate),
                       absl::ToTimeT(validity.until)) != nullptr;
}

bool AddExtensions(X509* certificate, X509* issuer,
                   const std::vector<CertificateExtension>& extensions) {
  X509V3_CTX context = {};
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  for (const CertificateExtension& one : extensions) {
    X509_EXTENSION* const made =
        X509V3_EXT_conf_nid(nullptr, &context, one.nid, one.value.c_str());
    const absl::Cleanup free_it = [made] { X509_EXTENSION_free(made); };
    if (made == nullptr || X509_add_ext(certificate, made, -1) != 1) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::vector<CertificateExtension> AuthorityExtensions() {
  return {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
          {NID_key_usage, "critical,keyCertSign"},
          {NID_subject_key_identifier, "hash"}};
}

std::vector<CertificateExtension> PeerExtensions() {
  return {{NID_basic_constraints, "critical,CA:FALSE"},
          {NID_key_usage, "critical,digitalSignature"},
          {NID_ext_key_usage, "serverAuth,clientAuth"},
          {NID_subject_key_identifier, "hash"},
          {NID_authority_key_identifier, "keyid:always"}};
}

absl::StatusOr<CertificateAndKey> MakeCertificate(
    const std::string& common_name, Validity validity,
    const std::vector<CertificateExtension>& extensions,
    const CertificateAndKey* issuer) {
  CertificateAndKey pair = {.certificate = X509Ptr(X509_new()),
                            .key = KeyPtr(EVP_EC_gen("P-256"))};
  X509* const made = pair.certificate.get();
  if (made == nullptr || pair.key == nullptr) {
    return OpensslFailed("cannot make a key");
  }
  X509* const signer = issuer == nullptr ? made : issuer->certificate.get();
  EVP_PKEY* const signing_key =
      issuer == nullptr ? pair.key.get() : issuer->key.get();
  // The key is set first, because an extension contains its digest.
  if (X509_set_version(made, X509_VERSION_3) != 1 || !SetRandomSerial(made) ||
      !SetSubject(made, common_name) || !SetValidity(made, validity) ||
      X509_set_pubkey(made, pair.key.get()) != 1 ||
      X509_set_issuer_name(made, X509_get_subject_name(signer)) != 1 ||
      !AddExtensions(made, signer, extensions) ||
      X509_sign(made, signing_key, EVP_sha256()) == 0) {
    return OpensslFailed("cannot make a certificate");
  }
  return pair;
}

absl::StatusOr<std::string> NewRunCertificates(absl::Time now) {
  const Validity validity = {now - kClockDifference, now + kRunValidity};
  GANDEM_ASSIGN_OR_RETURN(
      const CertificateAndKey authority,
      MakeCertificate("gandem-run-authority", validity, AuthorityExtensions(),
                      /*issuer=*/nullptr));
  GANDEM_ASSIGN_OR_RETURN(const CertificateAndKey run,
                          MakeCertificate(kRunCertificateName, validity,
                                          PeerExtensions(), &authority));
  return absl::StrCat(ToPem(run.certificate.get()), ToPem(run.key.get()),
                      ToPem(authority.certificate.get()));
}

}  // namespace gandem
