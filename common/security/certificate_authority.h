// SPDX-License-Identifier: Apache-2.0
//
// Makes certificates with elliptic curve P-256.
//
// Owner: the process that starts a run. Thread safety: pure functions.
// Errors: INTERNAL names the failed OpenSSL operation.
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

// Extension of X.509 version 3; `value` is in OpenSSL's notation.
struct CertificateExtension {
  int nid;
  std::string value;
};

// Extensions of an authority's certificate and of one for peers.
std::vector<CertificateExtension> AuthorityExtensions();
std::vector<CertificateExtension> PeerExtensions();

// Makes a certificate signed by `issuer`, or self-signed if `issuer` is null.
absl::StatusOr<CertificateAndKey> MakeCertificate(
    const std::string& common_name, Validity validity,
    const std::vector<CertificateExtension>& extensions,
    const CertificateAndKey* issuer);

// Subject of a run's certificate, in place of host names.
inline constexpr char kRunCertificateName[] = "gandem-run";

// Returns a run's certificates as text for Certificates::LoadOfRun: one
// certificate for all hosts, its key, and a new authority that signed it. The
// authority's key is discarded, so it can sign nothing else.
absl::StatusOr<std::string> NewRunCertificates(absl::Time now);

}  // namespace gandem
