// SPDX-License-Identifier: Apache-2.0
#include "common/security/certificates.h"

#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/files/file.h"
#include "common/security/private_file.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr int64_t kMaxPemBytes = 64 << 10;
constexpr char kPemBegin[] = "-----BEGIN CERTIFICATE-----";

// Host names and addresses count in their extension, never in the subject.
bool IsForHost(X509* certificate, const std::string& host) {
  return X509_check_ip_asc(certificate, host.c_str(), 0) == 1 ||
         X509_check_host(
             certificate, host.data(), host.size(),
             X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_WILDCARDS,
             nullptr) == 1;
}

// Returns clearer texts than OpenSSL's, if there are any.
std::string WhyRefused(int error, X509* certificate) {
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return absl::StrCat("it has expired at ",
                          absl::FormatTime(NotAfter(certificate)));
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return absl::StrCat("it is valid from ",
                          absl::FormatTime(NotBefore(certificate)),
                          " on only; or a clock is wrong");
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "another authority has signed it, not the one of this run";
    default:
      return X509_verify_cert_error_string(error);
  }
}

// Returns why signature or time is invalid; empty: valid.
std::string WhyNotGood(X509* certificate, X509* authority) {
  X509_STORE* const store = X509_STORE_new();
  const absl::Cleanup free_store = [store] { X509_STORE_free(store); };
  X509_STORE_CTX* const context = X509_STORE_CTX_new();
  const absl::Cleanup free_context = [context] {
    X509_STORE_CTX_free(context);
  };
  if (store == nullptr || context == nullptr ||
      X509_STORE_add_cert(store, authority) != 1 ||
      X509_STORE_CTX_init(context, store, certificate, nullptr) != 1) {
    return absl::StrCat("it cannot be checked: ", OpensslError());
  }
  X509_STORE_CTX_set_purpose(context, X509_PURPOSE_SSL_CLIENT);
  if (X509_verify_cert(context) != 1) {
    X509* const faulty = X509_STORE_CTX_get_current_cert(context);
    return WhyRefused(X509_STORE_CTX_get_error(context),
                      faulty == nullptr ? certificate : faulty);
  }
  return "";
}

}  // namespace

Certificates::Certificates(std::string path, bool are_of_run)
    : path_(std::move(path)), are_of_run_(are_of_run) {}

absl::StatusOr<std::shared_ptr<const Certificates>> Certificates::Load(
    const std::string& path) {
  if (!PathExists(path + ".crt")) {
    return absl::NotFoundError(absl::StrCat(
        "there is no '", path, ".crt': give FOLDER/NAME of a folder with ",
        "ca.crt, NAME.crt and NAME.key"));
  }
  const std::string ca = ParentOf(path) + "/ca.crt";
  GANDEM_ASSIGN_OR_RETURN(std::string authority, ReadFile(ca, kMaxPemBytes));
  GANDEM_ASSIGN_OR_RETURN(std::string certificate,
                          ReadFile(path + ".crt", kMaxPemBytes));
  GANDEM_ASSIGN_OR_RETURN(std::string key,
                          ReadPrivateFile(path + ".key", kMaxPemBytes));
  return Parse(path, /*are_of_run=*/false, {std::move(authority), ca},
               {std::move(certificate), path + ".crt"},
               {std::move(key), path + ".key"});
}

absl::StatusOr<std::shared_ptr<const Certificates>> Certificates::LoadOfRun(
    const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          ReadPrivateFile(path, kMaxPemBytes));
  // The authority's certificate comes last.
  const size_t last = std::min(text.rfind(kPemBegin), text.size());
  auto parsed = Parse(path, /*are_of_run=*/true, {text.substr(last), path},
                      {text, path}, {text, path});
  if (parsed.ok()) return parsed;
  return absl::Status(
      parsed.status().code(),
      absl::StrCat(parsed.status().message(), "; stop the run and remove the ",
                   "file: the next `gandem train` makes a new one"));
}

absl::StatusOr<std::shared_ptr<const Certificates>> Certificates::Parse(
    std::string path, bool are_of_run, const Source& authority,
    const Source& certificate, const Source& key) {
  std::shared_ptr<Certificates> parsed(
      new Certificates(std::move(path), are_of_run));
  GANDEM_ASSIGN_OR_RETURN(const X509Ptr signer,
                          ParseCertificate(authority.text, authority.name));
  GANDEM_ASSIGN_OR_RETURN(parsed->certificate_,
                          ParseCertificate(certificate.text, certificate.name));
  GANDEM_ASSIGN_OR_RETURN(const KeyPtr own_key, ParseKey(key.text, key.name));
  X509* const own = parsed->certificate_.get();
  if (X509_check_private_key(own, own_key.get()) != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", key.name, "' is not the key of '", certificate.name,
                     "': copy both from where they were made"));
  }
  const std::string why = WhyNotGood(own, signer.get());
  if (!why.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("certificate '", certificate.name, "': ", why));
  }
  parsed->authority_pem_ = ToPem(signer.get());
  parsed->certificate_pem_ = ToPem(own);
  parsed->key_pem_ = ToPem(own_key.get());
  return parsed;
}

absl::Status Certificates::CheckServes(const std::string& host) const {
  if (are_of_run_ || IsForHost(certificate_.get(), host)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "certificate '", path_, ".crt' is not for ", host, " but for ",
      HostsOf(certificate_.get()), ": listen there, or name a certificate ",
      "that is for ", host));
}

}  // namespace gandem
