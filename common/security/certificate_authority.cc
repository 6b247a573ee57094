// SPDX-License-Identifier: Apache-2.0
#include "common/security/certificate_authority.h"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/files/file.h"
#include "common/security/certificates.h"
#include "common/security/private_file.h"
#include "common/security/x509.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr char kAuthorityName[] = "ca";
constexpr int64_t kMaxFileBytes = 64 << 10;
constexpr size_t kMaxHostName = 253;  // of DNS

struct Extension {
  int nid;
  std::string value;
};

absl::Status OpensslFailed(absl::string_view what) {
  return absl::InternalError(absl::StrCat(what, ": ", OpensslError()));
}

// 127 bits, so that no two are ever the same, and none is negative.
bool SetRandomSerial(X509* certificate) {
  BIGNUM* const number = BN_new();
  const absl::Cleanup free_number = [number] { BN_free(number); };
  return number != nullptr &&
         BN_rand(number, 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) !=
             nullptr;
}

bool SetSubject(X509* certificate, const std::string& common_name) {
  // A common name has at most 64 characters; hosts stand in an extension.
  const std::string name = common_name.substr(0, 64);
  return X509_NAME_add_entry_by_txt(
             X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
             0) == 1;
}

bool SetValidity(X509* certificate, Validity validity) {
  return ASN1_TIME_set(X509_getm_notBefore(certificate),
                       absl::ToTimeT(validity.from)) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate),
                       absl::ToTimeT(validity.until)) != nullptr;
}

bool AddExtensions(X509* certificate, X509* issuer,
                   const std::vector<Extension>& extensions) {
  X509V3_CTX context = {};
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  for (const Extension& one : extensions) {
    X509_EXTENSION* const made =
        X509V3_EXT_conf_nid(nullptr, &context, one.nid, one.value.c_str());
    const absl::Cleanup free_it = [made] { X509_EXTENSION_free(made); };
    if (made == nullptr || X509_add_ext(certificate, made, -1) != 1) {
      return false;
    }
  }
  return true;
}

struct Pair {
  X509Ptr certificate;
  KeyPtr key;
};

// Signed by `issuer`, or by itself if that is null.
absl::StatusOr<Pair> MakePair(const std::string& common_name, Validity validity,
                              const std::vector<Extension>& extensions,
                              const Pair* issuer) {
  Pair pair = {.certificate = X509Ptr(X509_new()),
               .key = KeyPtr(EVP_EC_gen("P-256"))};
  X509* const made = pair.certificate.get();
  if (made == nullptr || pair.key == nullptr) {
    return OpensslFailed("cannot make a key");
  }
  X509* const signer = issuer == nullptr ? made : issuer->certificate.get();
  EVP_PKEY* const signing_key =
      issuer == nullptr ? pair.key.get() : issuer->key.get();
  // The key comes first: an extension holds its digest.
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

absl::Status RefuseToOverwrite(const std::string& path) {
  if (!PathExists(path)) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat("'", path, "' is there already, and is not overwritten: ",
                   "move it away to have another one made"));
}

// The key first: without its certificate it is of no use to anybody.
absl::Status WritePair(const std::string& folder, const std::string& name,
                       const Pair& pair) {
  const std::string path = absl::StrCat(folder, "/", name);
  GANDEM_RETURN_IF_ERROR(
      CreatePrivateFile(path + ".key", ToPem(pair.key.get())));
  return WriteFileDurably(path + ".crt", ToPem(pair.certificate.get()));
}

absl::StatusOr<Pair> ReadAuthority(const std::string& folder) {
  const std::string path = absl::StrCat(folder, "/", kAuthorityName);
  Pair pair;
  GANDEM_ASSIGN_OR_RETURN(const std::string certificate,
                          ReadFile(path + ".crt", kMaxFileBytes));
  GANDEM_ASSIGN_OR_RETURN(pair.certificate,
                          ParseCertificate(certificate, path + ".crt"));
  GANDEM_ASSIGN_OR_RETURN(const std::string key,
                          ReadPrivateFile(path + ".key", kMaxFileBytes));
  GANDEM_ASSIGN_OR_RETURN(pair.key, ParseKey(key, path + ".key"));
  if (X509_check_private_key(pair.certificate.get(), pair.key.get()) == 1) {
    return pair;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", path, ".key' is not the key of '", path, ".crt'"));
}

// It becomes part of a file's name and of OpenSSL's little language.
absl::Status CheckHost(const std::string& host) {
  if (IsIpAddress(host)) return absl::OkStatus();
  bool good = !host.empty() && host.size() <= kMaxHostName &&
              host.front() != '.' && host.front() != '-';
  for (const char letter : host) {
    good = good && (absl::ascii_isalnum(static_cast<unsigned char>(letter)) ||
                    absl::StrContains("-._", letter));
  }
  if (good && !absl::EqualsIgnoreCase(host, kAuthorityName)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", host, "' is no host name or IP address"));
}

std::string AlternativeNames(const std::vector<std::string>& hosts) {
  std::vector<std::string> names;
  for (const std::string& host : hosts) {
    names.push_back(absl::StrCat(IsIpAddress(host) ? "IP:" : "DNS:", host));
  }
  return absl::StrJoin(names, ",");
}

}  // namespace

absl::StatusOr<bool> EnsureAuthority(const std::string& folder,
                                     Validity validity) {
  GANDEM_RETURN_IF_ERROR(CreateDirectories(folder));
  const std::string path = absl::StrCat(folder, "/", kAuthorityName);
  const bool has_certificate = PathExists(path + ".crt");
  if (has_certificate && PathExists(path + ".key")) return false;
  if (has_certificate) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", folder, "' holds ca.crt without its ca.key: make certificates ",
        "where the first ones were made, or in a new folder"));
  }
  GANDEM_RETURN_IF_ERROR(RefuseToOverwrite(path + ".key"));
  GANDEM_ASSIGN_OR_RETURN(
      const Pair pair,
      MakePair("gandem run", validity,
               {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                {NID_key_usage, "critical,keyCertSign,cRLSign"},
                {NID_subject_key_identifier, "hash"}},
               /*issuer=*/nullptr));
  GANDEM_RETURN_IF_ERROR(WritePair(folder, kAuthorityName, pair));
  return true;
}

// A colon means something to scp.
std::string CertificateName(const std::vector<std::string>& hosts) {
  return hosts.empty() ? "" : absl::StrReplaceAll(hosts.front(), {{":", "-"}});
}

absl::Status IssueCertificate(const std::string& folder,
                              const std::vector<std::string>& hosts,
                              Validity validity) {
  for (const std::string& host : hosts) {
    GANDEM_RETURN_IF_ERROR(CheckHost(host));
  }
  const std::string name = CertificateName(hosts);
  if (name.empty()) return absl::InvalidArgumentError("a host is required");
  for (const char* const ending : {".crt", ".key"}) {
    GANDEM_RETURN_IF_ERROR(
        RefuseToOverwrite(absl::StrCat(folder, "/", name, ending)));
  }
  GANDEM_ASSIGN_OR_RETURN(const Pair authority, ReadAuthority(folder));
  GANDEM_ASSIGN_OR_RETURN(
      const Pair pair,
      MakePair(name, validity,
               {{NID_basic_constraints, "critical,CA:FALSE"},
                {NID_key_usage, "critical,digitalSignature"},
                {NID_ext_key_usage, "serverAuth,clientAuth"},
                {NID_subject_alt_name, AlternativeNames(hosts)},
                {NID_subject_key_identifier, "hash"},
                {NID_authority_key_identifier, "keyid:always"}},
               &authority));
  return WritePair(folder, name, pair);
}

absl::Status RevokeCertificate(const std::string& folder,
                               const std::string& name) {
  if (absl::StrContains(name, '/')) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", name, "' is a path, and no name of a certificate: give that of ",
        "the .crt in '", folder, "', without the ending"));
  }
  const std::string path = absl::StrCat(folder, "/", name, ".crt");
  GANDEM_ASSIGN_OR_RETURN(const std::string pem, ReadFile(path, kMaxFileBytes));
  GANDEM_ASSIGN_OR_RETURN(const X509Ptr certificate,
                          ParseCertificate(pem, path));
  const std::string list_path = RevokedPath(folder);
  absl::StatusOr<std::string> list = ReadFile(list_path);
  if (absl::IsNotFound(list.status())) list = "";
  GANDEM_RETURN_IF_ERROR(list);
  const std::string serial = SerialOf(certificate.get());
  if (absl::StrContains(*list, serial)) return absl::OkStatus();
  return WriteFileDurably(list_path,
                          absl::StrCat(*list, serial, " ", name, "\n"));
}

}  // namespace gandem
