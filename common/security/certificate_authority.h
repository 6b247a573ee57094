// SPDX-License-Identifier: Apache-2.0
//
// Makes the certificates of a run: an authority (ca.crt, ca.key) and one
// certificate with its key for each host, all of elliptic curve P-256. Nothing
// is ever overwritten.
//
// Owner: `gandem certificates`. Thread safety: one process at a time.
// Errors: those of common/files/file.h, INVALID_ARGUMENT for a name that makes
// no sense, and
//   ALREADY_EXISTS  a file is there; says what to do.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace gandem {

struct Validity {
  absl::Time from;
  absl::Time until;
};

// ca.crt and ca.key; true: made, false: both were there.
absl::StatusOr<bool> EnsureAuthority(const std::string& folder,
                                     Validity validity);

// The files of a host are named by the first of its names and addresses.
std::string CertificateName(const std::vector<std::string>& hosts);

// NAME.crt and NAME.key, for all `hosts`, names or IP addresses.
absl::Status IssueCertificate(const std::string& folder,
                              const std::vector<std::string>& hosts,
                              Validity validity);

// Adds NAME.crt to the list of revoked ones. Repeating it changes nothing.
//   NOT_FOUND  there is no such certificate.
absl::Status RevokeCertificate(const std::string& folder,
                               const std::string& name);

}  // namespace gandem
