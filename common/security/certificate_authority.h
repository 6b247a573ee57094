// SPDX-License-Identifier: Apache-2.0
//
// Makes certificates, of elliptic curve P-256.
//
// Owner: the process that starts a run. Thread safety: pure functions.
// Errors: INTERNAL says what OpenSSL could not do.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/security/x509.h"

namespace gandem {

struct Validity {
  absl::Time from;
  absl::Time until;
};

struct CertificateAndKey {
  X509Ptr certificate;
  KeyPtr key;
};

// An extension of X.509 version 3; `value` is OpenSSL's notation.
struct CertificateExtension {
  int nid;
  std::string value;
};

// Extensions of a certificate that signs others, and of one that a server or a
// client shows.
std::vector<CertificateExtension> AuthorityExtensions();
std::vector<CertificateExtension> PeerExtensions();

// A new certificate signed by `issuer`, or by itself if that is null.
absl::StatusOr<CertificateAndKey> MakeCertificate(
    const std::string& common_name, Validity validity,
    const std::vector<CertificateExtension>& extensions,
    const CertificateAndKey* issuer);

// The name that a run's certificate has in place of hosts.
inline constexpr char kRunCertificateName[] = "gandem-run";

// The text of a run's certificates, as Certificates::LoadOfRun reads it: one
// certificate for all hosts, its key, and the new authority that has signed it.
// The authority's own key is kept nowhere, so that it signs nothing else.
absl::StatusOr<std::string> NewRunCertificates(absl::Time now);

}  // namespace gandem
