// SPDX-License-Identifier: Apache-2.0
//
// Certificates of a run for tests, made by the code that users have.
//
// Thread safety: one thread.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/check.h"
#include "common/security/certificate_authority.h"
#include "common/security/certificates.h"

namespace gandem::testing {

// A name of this host that nothing takes for one, so that its connections are
// encrypted; whoever resolves names ignores the case.
inline constexpr char kHostOfOthers[] = "LOCALHOST";

inline Validity AroundNow() {
  return {absl::Now() - absl::Hours(1), absl::Now() + absl::Hours(1)};
}

inline void MakeAuthority(const std::string& folder) {
  GANDEM_CHECK_OK(EnsureAuthority(folder, AroundNow()).status());
}

// For the first of `hosts` the files are named.
inline void MakeCertificate(const std::string& folder,
                            const std::vector<std::string>& hosts,
                            Validity validity = AroundNow()) {
  GANDEM_CHECK_OK(IssueCertificate(folder, hosts, validity));
}

inline std::shared_ptr<const Certificates> LoadedCertificates(
    const std::string& folder, const std::string& name) {
  auto loaded = Certificates::Load(absl::StrCat(folder, "/", name));
  GANDEM_CHECK_OK(loaded.status());
  return *std::move(loaded);
}

}  // namespace gandem::testing
