// SPDX-License-Identifier: Apache-2.0
#include "common/security/certificates.h"

#include <arpa/inet.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/files/file.h"
#include "common/security/private_file.h"
#include "common/security/refusals.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr int64_t kMaxPemBytes = 64 << 10;
constexpr char kAuthority[] = "ca";
constexpr char kPemBegin[] = "-----BEGIN CERTIFICATE-----";

bool IsFolder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

// The pairs of a folder, by the names of their keys; the authority's own key is
// there where the certificates were made.
absl::StatusOr<std::vector<std::string>> PairsIn(const std::string& folder) {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                          ListDirectory(folder));
  std::vector<std::string> names;
  for (const std::string& file : files) {
    absl::string_view name = file;
    if (absl::ConsumeSuffix(&name, ".key") && name != kAuthority) {
      names.emplace_back(name);
    }
  }
  return names;
}

absl::StatusOr<std::string> OnlyPairIn(const std::string& folder) {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          PairsIn(folder));
  if (names.size() == 1) return names.front();
  if (names.empty()) {
    return absl::NotFoundError(
        absl::StrCat("'", folder, "' holds no NAME.key; it needs ca.crt and ",
                     "this host's NAME.crt and NAME.key"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", folder, "' holds several certificates: say which one is this ",
      "host's, as in ", folder, "/", names.front(), " (there are ",
      absl::StrJoin(names, ", "), ")"));
}

// Names and addresses stand in the extension for them, never in the subject.
bool IsForHost(X509* certificate, const std::string& host) {
  if (IsIpAddress(host)) {
    return X509_check_ip_asc(certificate, host.c_str(), 0) == 1;
  }
  return X509_check_host(
             certificate, host.data(), host.size(),
             X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_WILDCARDS,
             nullptr) == 1;
}

std::string IpText(const ASN1_OCTET_STRING* bytes) {
  char text[INET6_ADDRSTRLEN] = {};
  const int family = ASN1_STRING_length(bytes) == 4 ? AF_INET : AF_INET6;
  if (ASN1_STRING_length(bytes) != 4 && ASN1_STRING_length(bytes) != 16) {
    return "?";
  }
  inet_ntop(family, ASN1_STRING_get0_data(bytes), text, sizeof(text));
  return text;
}

// The hosts that a certificate is for, as "alpha, 10.0.0.1".
std::string HostsOf(X509* certificate) {
  auto* const names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  const absl::Cleanup free_names = [names] { GENERAL_NAMES_free(names); };
  std::vector<std::string> hosts;
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names, i);
    if (name->type == GEN_IPADD) {
      hosts.push_back(IpText(name->d.iPAddress));
    } else if (name->type == GEN_DNS) {
      hosts.push_back(FromOutside(
          {reinterpret_cast<const char*>(
               ASN1_STRING_get0_data(name->d.dNSName)),
           static_cast<size_t>(ASN1_STRING_length(name->d.dNSName))}));
    }
  }
  return hosts.empty() ? "no host" : absl::StrJoin(hosts, ", ");
}

// OpenSSL's reasons in our words, where ours say more.
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

}  // namespace

bool IsIpAddress(const std::string& host) {
  in6_addr address;
  return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

Certificates::Certificates(std::string path, bool are_of_run)
    : path_(std::move(path)), are_of_run_(are_of_run) {}

absl::StatusOr<std::shared_ptr<const Certificates>> Certificates::Load(
    const std::string& path) {
  std::string pair(absl::StripSuffix(path, "/"));
  if (IsFolder(pair)) {
    GANDEM_ASSIGN_OR_RETURN(const std::string name, OnlyPairIn(pair));
    absl::StrAppend(&pair, "/", name);
  } else if (!PathExists(pair + ".crt")) {
    return absl::NotFoundError(absl::StrCat(
        "'", path, "' is no folder, and there is no '", pair,
        ".crt': give a folder with ca.crt, NAME.crt and NAME.key, or ",
        "FOLDER/NAME"));
  }
  const std::string ca = absl::StrCat(ParentOf(pair), "/", kAuthority, ".crt");
  GANDEM_ASSIGN_OR_RETURN(std::string authority, ReadFile(ca, kMaxPemBytes));
  GANDEM_ASSIGN_OR_RETURN(std::string certificate,
                          ReadFile(pair + ".crt", kMaxPemBytes));
  GANDEM_ASSIGN_OR_RETURN(std::string key,
                          ReadPrivateFile(pair + ".key", kMaxPemBytes));
  return Parse(pair, /*are_of_run=*/false, {std::move(authority), ca},
               {std::move(certificate), pair + ".crt"},
               {std::move(key), pair + ".key"});
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
  GANDEM_ASSIGN_OR_RETURN(parsed->authority_,
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
  const std::string why =
      parsed->WhyNotGood(own, X509_PURPOSE_SSL_CLIENT, absl::Now());
  if (!why.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("certificate '", certificate.name, "': ", why));
  }
  parsed->authority_pem_ = ToPem(parsed->authority_.get());
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

std::string Certificates::WhyNotGood(X509* certificate, int purpose,
                                     absl::Time now) const {
  X509_STORE* const store = X509_STORE_new();
  const absl::Cleanup free_store = [store] { X509_STORE_free(store); };
  X509_STORE_CTX* const context = X509_STORE_CTX_new();
  const absl::Cleanup free_context = [context] {
    X509_STORE_CTX_free(context);
  };
  if (store == nullptr || context == nullptr ||
      X509_STORE_add_cert(store, authority_.get()) != 1 ||
      X509_STORE_CTX_init(context, store, certificate, nullptr) != 1) {
    return absl::StrCat("it cannot be checked: ", OpensslError());
  }
  X509_STORE_CTX_set_purpose(context, purpose);
  X509_STORE_CTX_set_time(context, 0, absl::ToTimeT(now));
  if (X509_verify_cert(context) != 1) {
    X509* const faulty = X509_STORE_CTX_get_current_cert(context);
    return WhyRefused(X509_STORE_CTX_get_error(context),
                      faulty == nullptr ? certificate : faulty);
  }
  return "";
}

absl::Status Certificates::CheckPeer(absl::string_view certificate_pem,
                                     int purpose, const std::string& host,
                                     absl::Time now) const {
  if (certificate_pem.empty()) {
    return absl::UnauthenticatedError("it shows no certificate");
  }
  auto certificate = ParseCertificate(certificate_pem, "what it shows");
  if (!certificate.ok()) {
    return absl::UnauthenticatedError(certificate.status().message());
  }
  std::string why = WhyNotGood(certificate->get(), purpose, now);
  if (why.empty() && !host.empty() && !IsForHost(certificate->get(), host)) {
    why = absl::StrCat("it is not for ", host, " but for ",
                       HostsOf(certificate->get()));
  }
  if (why.empty()) return absl::OkStatus();
  return absl::UnauthenticatedError(
      absl::StrCat("certificate of ",
                   FromOutside(CommonNameOf(certificate->get())), ": ", why));
}

absl::Status Certificates::CheckClient(absl::string_view certificate_pem,
                                       absl::Time now) const {
  return CheckPeer(certificate_pem, X509_PURPOSE_SSL_CLIENT, "", now);
}

absl::Status Certificates::CheckServer(absl::string_view certificate_pem,
                                       const std::string& host,
                                       absl::Time now) const {
  return CheckPeer(certificate_pem, X509_PURPOSE_SSL_SERVER,
                   are_of_run_ ? "" : host, now);
}

}  // namespace gandem
