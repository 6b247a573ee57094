// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/test_certificates.h"

#include <openssl/x509v3.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/files/file.h"
#include "common/security/private_file.h"
#include "common/security/x509.h"

namespace gandem::testing {
namespace {

void WritePair(const std::string& path, const CertificateAndKey& pair) {
  GANDEM_CHECK_OK(CreatePrivateFile(path + ".key", ToPem(pair.key.get())));
  GANDEM_CHECK_OK(WriteFile(path + ".crt", ToPem(pair.certificate.get())));
}

CertificateAndKey ReadPair(const std::string& path) {
  return {.certificate =
              *ParseCertificate(ReadFile(path + ".crt").value_or(""), path),
          .key = *ParseKey(ReadFile(path + ".key").value_or(""), path)};
}

template <typename T>
T Checked(absl::StatusOr<T> result) {
  GANDEM_CHECK_OK(result.status());
  return *std::move(result);
}

}  // namespace

void MakeAuthority(const std::string& folder, Validity validity) {
  GANDEM_CHECK_OK(CreateDirectories(folder));
  WritePair(folder + "/ca",
            Checked(MakeCertificate("test authority", validity,
                                    AuthorityExtensions(), nullptr)));
}

void IssueCertificate(const std::string& folder,
                      const std::vector<std::string>& hosts,
                      Validity validity) {
  const auto name_of = [](std::string* text, const std::string& host) {
    const std::unique_ptr<ASN1_OCTET_STRING, decltype(&ASN1_OCTET_STRING_free)>
        address(a2i_IPADDRESS(host.c_str()), &ASN1_OCTET_STRING_free);
    absl::StrAppend(text, address != nullptr ? "IP:" : "DNS:", host);
  };
  std::vector<CertificateExtension> extensions = PeerExtensions();
  extensions.push_back(
      {NID_subject_alt_name, absl::StrJoin(hosts, ",", name_of)});
  const CertificateAndKey authority = ReadPair(folder + "/ca");
  WritePair(absl::StrCat(folder, "/", hosts.front()),
            Checked(MakeCertificate(hosts.front(), validity, extensions,
                                    &authority)));
}

std::shared_ptr<const Certificates> LoadedCertificates(
    const std::string& folder, const std::string& name) {
  return Checked(Certificates::Load(absl::StrCat(folder, "/", name)));
}

std::shared_ptr<const Certificates> NewCertificatesOfRun(
    const std::string& path) {
  GANDEM_CHECK_OK(
      CreatePrivateFile(path, Checked(NewRunCertificates(absl::Now()))));
  return Checked(Certificates::LoadOfRun(path));
}

}  // namespace gandem::testing
