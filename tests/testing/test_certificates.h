// SPDX-License-Identifier: Apache-2.0
//
// Certificates in a user's layout: a folder with ca.crt and ca.key, and
// NAME.crt and NAME.key for each host.
//
// Thread safety: one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "common/security/certificate_authority.h"
#include "common/security/certificates.h"

namespace gandem::testing {

// A name of this host that is not recognized as local, so that connections are
// encrypted; resolvers ignore case.
inline constexpr char kHostOfOthers[] = "LOCALHOST";

inline Validity AroundNow() {
  return {absl::Now() - absl::Hours(1), absl::Now() + absl::Hours(1)};
}

void MakeAuthority(const std::string& folder, Validity validity = AroundNow());

// Writes a certificate signed by the folder, named after hosts[0].
void IssueCertificate(const std::string& folder,
                      const std::vector<std::string>& hosts,
                      Validity validity = AroundNow());

std::shared_ptr<const Certificates> LoadedCertificates(
    const std::string& folder, const std::string& name);

// Returns new certificates of a run with the file `path`.
std::shared_ptr<const Certificates> NewCertificatesOfRun(
    const std::string& path);

}  // namespace gandem::testing
