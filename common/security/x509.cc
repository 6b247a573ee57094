// SPDX-License-Identifier: Apache-2.0
#include "common/security/x509.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <ctime>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace gandem {
namespace {

struct BioDeleter {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using BioPtr = std::unique_ptr<BIO, BioDeleter>;

BioPtr ReadFrom(absl::string_view text) {
  BioPtr bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  GANDEM_CHECK(bio != nullptr);  // fails only without memory
  return bio;
}

BioPtr WriteTo() {
  BioPtr bio(BIO_new(BIO_s_mem()));
  GANDEM_CHECK(bio != nullptr);
  return bio;
}

std::string TextIn(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<size_t>(size));
}

// Supplies no password, so that OpenSSL never prompts.
int NoPassword(char*, int, int, void*) { return -1; }

absl::Time FromAsn1(const ASN1_TIME* time) {
  std::tm parts = {};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return absl::InfinitePast();
  return absl::FromTM(parts, absl::UTCTimeZone());
}

}  // namespace

absl::StatusOr<X509Ptr> ParseCertificate(absl::string_view pem,
                                         absl::string_view name) {
  X509Ptr certificate(
      PEM_read_bio_X509(ReadFrom(pem).get(), nullptr, NoPassword, nullptr));
  ERR_clear_error();
  if (certificate != nullptr) return certificate;
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' holds no certificate (PEM)"));
}

absl::StatusOr<KeyPtr> ParseKey(absl::string_view pem, absl::string_view name) {
  KeyPtr key(PEM_read_bio_PrivateKey(ReadFrom(pem).get(), nullptr, NoPassword,
                                     nullptr));
  ERR_clear_error();
  if (key != nullptr) return key;
  return absl::InvalidArgumentError(absl::StrCat(
      "'", name, "' holds no private key (PEM, without a password)"));
}

std::string ToPem(X509* certificate) {
  const BioPtr bio = WriteTo();
  GANDEM_CHECK(PEM_write_bio_X509(bio.get(), certificate) == 1);
  return TextIn(bio.get());
}

std::string ToPem(EVP_PKEY* key) {
  const BioPtr bio = WriteTo();
  GANDEM_CHECK(PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0,
                                        nullptr, nullptr) == 1);
  return TextIn(bio.get());
}

std::string HostsOf(X509* certificate) {
  const int at = X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1);
  if (at < 0) return "no host";
  const BioPtr bio = WriteTo();
  X509V3_EXT_print(bio.get(), X509_get_ext(certificate, at), 0, 0);
  return TextIn(bio.get());
}

absl::Time NotBefore(X509* certificate) {
  return FromAsn1(X509_get0_notBefore(certificate));
}

absl::Time NotAfter(X509* certificate) {
  return FromAsn1(X509_get0_notAfter(certificate));
}

std::string OpensslError() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const reason = ERR_reason_error_string(code);
  return reason == nullptr ? "unknown" : reason;
}

}  // namespace gandem
